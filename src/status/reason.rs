//! Why a parent is as it is: the reason of its conditions.
//!
//! In: nothing. Out: a word for each reason, and which of Ready, Reconciling and Stalled it makes true. Never here: what is told of
//! one parent.

use crate::report::State;

/// The reason of Ready, Reconciling and Stalled. Stable: people alert on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Every child exists and is ready.
    Ready,
    /// Children are on their way.
    Progressing,
    /// A child waits for something that does not exist yet.
    Waiting,
    /// A template or the parent has a mistake.
    RenderFailed,
    /// The API server refused a child, or the child itself failed.
    ChildFailed,
    /// An object of that name belongs to somebody else.
    NotOwned,
    /// A child with generated values is gone.
    Lost,
    /// Other managers hold fields of a child.
    Conflict,
    /// Rights are missing.
    Forbidden,
    /// More would be deleted than the budget of the rule allows.
    DeletionWithheld,
    /// The API server refused the declared status fields.
    StatusRefused,
}

impl Reason {
    /// All of them, in the order in which a person should read them.
    pub const ALL: [Self; 11] = [
        Self::Ready,
        Self::Progressing,
        Self::Waiting,
        Self::RenderFailed,
        Self::ChildFailed,
        Self::NotOwned,
        Self::Lost,
        Self::Conflict,
        Self::Forbidden,
        Self::DeletionWithheld,
        Self::StatusRefused,
    ];

    /// One CamelCase word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::Progressing => "Progressing",
            Self::Waiting => "Waiting",
            Self::RenderFailed => "RenderFailed",
            Self::ChildFailed => "ChildFailed",
            Self::NotOwned => "NotOwned",
            Self::Lost => "Lost",
            Self::Conflict => "Conflict",
            Self::Forbidden => "Forbidden",
            Self::DeletionWithheld => "DeletionWithheld",
            Self::StatusRefused => "StatusRefused",
        }
    }

    /// How whoever has this reason stands.
    pub fn state(self) -> State {
        match self {
            Self::Ready => State::Ready,
            Self::Progressing | Self::Waiting => State::InProgress,
            Self::RenderFailed
            | Self::ChildFailed
            | Self::NotOwned
            | Self::Lost
            | Self::Conflict
            | Self::Forbidden
            | Self::DeletionWithheld
            | Self::StatusRefused => State::Failed,
        }
    }
}
