//! What server-side apply says is ours: canonical intent, managed fields, and the three questions asked of them.
//!
//! In: a rendered object, a live object with its `managedFields`. Out: what to send and its hash ([`intent`]),
//! whether our entry covers it ([`matching`]), whether values of ours moved ([`memo`], [`projection`]), and which, for
//! people ([`drift`]); the few things that an apply cannot do by itself ([`mend`], [`transfer`]). Never here: a client, a schema, a clock, comparing intent with live values
//! (defaulting would make that loop).
//!
//! The order of use: `canonical` once per render; after an apply, `Memo::of` the answer; after a restart, `matches` first
//! and `Memo::of` what is covered; from then on every event costs one `Memo::drift`.

pub mod changes;
pub mod drift;
pub mod entry;
pub mod fields;
pub mod ignore;
pub mod intent;
pub mod matching;
pub mod memo;
pub mod mend;
pub mod path;
pub mod projection;
mod respelled;
pub mod secret;
mod shared;
mod trail;
pub mod transfer;

pub use changes::{Changes, Delta, changes, changes_within};
pub use drift::{Difference, differences};
pub use entry::{Entry, Holder, entry_in_text, holders, managers, our_entry, our_entry_in_text};
pub use fields::FieldSet;
pub use ignore::{Ignored, Spot, compared, hash_without_ignored, without_ignored};
pub use intent::{INTENT_ANNOTATION, IntentMark, Mistake, canonical, intent_hash};
pub use matching::{Matching, Mismatch, covers_part, matches};
pub use memo::{Drift, Memo};
pub use mend::{Mend, emptied_to_null, mended};
pub use path::{FieldPath, Key, Step};
pub use projection::{project, project_part};
pub use respelled::spelled_as_found;
pub use secret::{Hop, SecretPlaces};
pub(crate) use shared::shared;
pub use transfer::{inherited, revived, taken_over};

#[cfg(test)]
mod generated;
#[cfg(test)]
mod recorded;
