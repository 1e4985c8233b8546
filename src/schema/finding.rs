//! Something wrong with an object.
//!
//! In: what the checks found. Out: sentences for people, problems for `check`. Never here: deciding.

use crate::path::Location;
use crate::problem::Problem;
use std::fmt;

/// Something in an object that the API server would refuse, drop or change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where in the object: `$.spec.ports[1]`.
    pub path: Location,
    /// A stable, searchable name in kebab case: `unknown-field`.
    pub code: &'static str,
    /// What is wrong, as the rest of a sentence that starts with the path: `is missing`.
    pub message: String,
    /// What to write instead.
    pub hint: Option<String>,
}

/// Findings that quote no value.
const PLAIN: [&str; 3] = ["unknown-field", "missing-field", "unknown-status"];

impl Finding {
    /// The same without the value, which may be one of a Secret.
    #[must_use]
    pub fn hushed(self) -> Self {
        if PLAIN.contains(&self.code) {
            return self;
        }
        let message =
            "is not as it should be; the value is not shown, since it may be one of a Secret";
        Self { message: message.to_owned(), hint: None, ..self }
    }

    /// For the author of an object of this kind; the place is for the caller to find.
    pub fn problem(&self, kind: &str) -> Problem {
        let problem = Problem::new(self.code, format!("{kind} {self}"));
        Problem { hint: self.hint.clone(), ..problem }
    }
}

/// `$.spec.replicas is the text "3", should be an integer`
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.path, self.message)
    }
}
