//! Placeholders: what stands in rendered text where a value belongs.
//!
//! In: a slot's number. Out: a few characters that YAML takes for text in every style and that no author types; and
//! the way back. Never here: values. They wait in their slots until the text around them was read, which is why
//! nothing in a value can change the YAML around it.

use std::fmt::{self, Write};

/// Private-use characters of plane 16. Templates that contain one are refused.
const FIRST: char = '\u{10FE00}';
const LAST: char = '\u{10FE1F}';
const OPEN: char = '\u{10FE00}';
const CLOSE: char = '\u{10FE01}';
const NOTHING: char = '\u{10FE02}';
const OMIT: char = '\u{10FE03}';
/// Sixteen digits begin here.
const DIGIT: u32 = 0x10_FE10;

/// A part of a rendered text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// What the author wrote.
    Text(&'a str),
    /// The value in the slot of this number.
    Slot(usize),
    /// An inline `if` without `else` whose condition did not hold.
    Nothing,
    /// `omit`.
    Omit,
}

/// Whether a text contains a reserved character.
pub(super) fn is_in(text: &str) -> bool {
    // All of them are four bytes that begin alike; most texts have no such byte.
    text.as_bytes().contains(&0xF4) && text.contains(|c| (FIRST..=LAST).contains(&c))
}

/// Writes the placeholder of a slot.
pub(super) fn write_slot(out: &mut impl Write, number: usize) -> fmt::Result {
    out.write_char(OPEN)?;
    let digits = (usize::BITS - number.leading_zeros()).div_ceil(4).max(1);
    for digit in (0..digits).rev() {
        let digit = u32::try_from((number >> (4 * digit)) % 16).unwrap_or_default();
        out.write_char(char::from_u32(DIGIT + digit).unwrap_or(CLOSE))?;
    }
    out.write_char(CLOSE)
}

/// The placeholder of an inline `if` that gave nothing.
pub(super) const NOTHING_TEXT: &str = "\u{10FE02}";

/// The placeholder of `omit`.
pub(super) const OMIT_TEXT: &str = "\u{10FE03}";

/// The placeholder that a text consists of, if it is nothing else.
pub(super) fn whole(text: &str) -> Option<Piece<'_>> {
    placeholder(text).filter(|(_, length)| *length == text.len()).map(|(piece, _)| piece)
}

/// The parts of a text in order. A placeholder that somebody cut in two is `None`.
pub(super) fn pieces(text: &str) -> Option<Vec<Piece<'_>>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c| (FIRST..=LAST).contains(&c)) {
        if at > 0 {
            pieces.push(Piece::Text(&rest[..at]));
        }
        rest = &rest[at..];
        let (piece, length) = placeholder(rest)?;
        pieces.push(piece);
        rest = &rest[length..];
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    Some(pieces)
}

fn placeholder(text: &str) -> Option<(Piece<'_>, usize)> {
    let mut characters = text.chars();
    match characters.next()? {
        NOTHING => return Some((Piece::Nothing, NOTHING.len_utf8())),
        OMIT => return Some((Piece::Omit, OMIT.len_utf8())),
        OPEN => {}
        _ => return None,
    }
    let mut number = 0_usize;
    let mut length = OPEN.len_utf8();
    for character in characters {
        length += character.len_utf8();
        if character == CLOSE {
            let has_digits = length > OPEN.len_utf8() + CLOSE.len_utf8();
            return has_digits.then_some((Piece::Slot(number), length));
        }
        let digit = u32::from(character).checked_sub(DIGIT).filter(|digit| *digit < 16)?;
        number = number.checked_mul(16)?.checked_add(usize::try_from(digit).ok()?)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(number: usize) -> String {
        let mut text = String::new();
        write_slot(&mut text, number).unwrap();
        text
    }

    #[test]
    fn placeholders_are_found_again_between_other_text() {
        for number in [0, 1, 15, 16, 4_095, 1 << 20, usize::MAX] {
            assert_eq!(pieces(&slot(number)), Some(vec![Piece::Slot(number)]));
            assert_eq!(whole(&slot(number)), Some(Piece::Slot(number)));
            assert_eq!(whole(&format!("{} ", slot(number))), None);
        }
        let text = format!("a{}{}é{NOTHING_TEXT}{OMIT_TEXT}", slot(7), slot(31));
        let expected = [
            Piece::Text("a"),
            Piece::Slot(7),
            Piece::Slot(31),
            Piece::Text("é"),
            Piece::Nothing,
            Piece::Omit,
        ];
        assert_eq!(pieces(&text).unwrap(), expected);
        assert_eq!(pieces("plain 😀 \u{10FFFF}"), Some(vec![Piece::Text("plain 😀 \u{10FFFF}")]));
        assert!(is_in(&text) && !is_in("plain 😀 \u{10FFFF}"));
    }

    #[test]
    fn half_a_placeholder_is_noticed() {
        let whole = slot(300);
        for (at, _) in whole.char_indices().skip(1) {
            assert_eq!(pieces(&whole[..at]), None);
            assert_eq!(pieces(&whole[at..]), None);
        }
        assert_eq!(pieces(&format!("{OPEN}{CLOSE}")), None);
        assert_eq!(pieces(&format!("{OPEN}x{CLOSE}")), None);
    }
}
