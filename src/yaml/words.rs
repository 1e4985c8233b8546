//! The parser's failures in the words of somebody who writes a file.
//!
//! In: what the parser complains about. Out: one fragment. Never here: advice, which depends on the line.

use granit_parser::ErrorKind;

/// What is wrong.
pub(super) fn message(kind: &ErrorKind) -> String {
    let words = match kind {
        ErrorKind::ExpectedBlockMappingKey => "this line is not in line with the keys above it",
        ErrorKind::ExpectedBlockSequenceEntry => "this line is not in line with the items above it",
        ErrorKind::InvalidIndentation => "this line is indented too little",
        ErrorKind::ExpectedFlowMappingSeparator => "a `,` or `}` is missing here",
        ErrorKind::ExpectedFlowSequenceSeparator => "a `,` or `]` is missing here",
        ErrorKind::ExpectedNodeContent => "a value is missing here",
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => {
            "a `:` cannot stand here"
        }
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => "a `:` is missing after this",
        ErrorKind::TabNotAllowed | ErrorKind::TabInBlockIndentation => "a tab cannot stand here",
        ErrorKind::MissingAnchorOrAliasName => "a name is missing after this `*` or `&`",
        ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofImplicitFlowMapping
        | ErrorKind::UnexpectedEofBlockSequence
        | ErrorKind::UnexpectedEofBlockMapping
        | ErrorKind::UnexpectedEof => "the text ends too early",
        ErrorKind::UnclosedFlowCollection { open } => {
            return format!("this `{open}` is never closed");
        }
        ErrorKind::UnclosedQuotedScalar => "this quote is never closed",
        ErrorKind::UnexpectedCharacter { character } => {
            return format!("unexpected character `{}`", character.escape_default());
        }
        kind => return kind.to_string().to_lowercase(),
    };
    words.to_owned()
}
