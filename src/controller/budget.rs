//! How much may be deleted because a rule or an input changed, and not because somebody edited a parent.
//!
//! In: which parents such a change concerns, what would be deleted over all parents. Out: which objects are deleted and
//! which are not. Of each child more than a few and more than a tenth of its objects is too much, and then none of them
//! goes before somebody allows exactly these. A typo in a `when` must not prune a fleet. Never here: looking at objects.

use crate::marks::hash64;
use crate::object::ObjectId;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;
use tokio::time::Instant;

/// So many objects of a child may always go.
const FEW: usize = 5;

/// What was found about all parents is believed for so long.
const FRESH: Duration = Duration::from_mins(1);

/// What may be deleted.
#[derive(Debug, Default)]
pub(super) struct Budget {
    /// Parents of which a deletion may come from a change of the rule or of an input.
    suspects: HashMap<ObjectId, Suspect>,
    allowed: BTreeSet<ObjectId>,
    /// How many of them went unasked, of each child: the next ones come on top.
    spent: BTreeMap<String, usize>,
    withheld: BTreeMap<ObjectId, Withheld>,
    /// Somebody was told that something is held back.
    told: bool,
    /// When all parents were last looked at, as far as nothing happened since.
    looked: Option<Instant>,
}

/// Why a deletion may not be what the parent's owner wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The rule changed: whatever happens to the parent meanwhile.
    Rule,
    /// An input changed, or may have while we were away.
    Input,
}

#[derive(Clone, Copy, Debug)]
struct Suspect {
    cause: Cause,
    /// Of what a person edits in the parent, when it was first looked at under suspicion.
    edition: Option<u64>,
}

/// A child of which too much would go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Withheld {
    /// Its id in the rule.
    pub(super) child: String,
    /// How many of its objects would go.
    pub(super) doomed: usize,
    /// How many there are.
    pub(super) objects: usize,
    /// What allows exactly these deletions.
    pub(super) token: String,
}

/// The objects of one child over all parents.
#[derive(Debug, Default)]
pub(super) struct Census {
    pub(super) objects: usize,
    /// With their uids.
    pub(super) doomed: BTreeMap<ObjectId, Box<str>>,
}

/// What is known about deletions that a pass would make.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// All may be made.
    All,
    /// These may not; the others may.
    Not(BTreeMap<ObjectId, Withheld>),
    /// All parents have to be looked at first.
    Unknown,
}

impl Budget {
    /// These parents are concerned by a change.
    pub(super) fn suspect(&mut self, parents: impl IntoIterator<Item = ObjectId>, cause: Cause) {
        for parent in parents {
            let suspect = self.suspects.entry(parent).or_insert(Suspect { cause, edition: None });
            if cause == Cause::Rule {
                suspect.cause = cause;
            }
        }
        self.looked = None;
    }

    /// Something happened that may change the answer.
    pub(super) fn stale(&mut self) {
        self.looked = None;
    }

    /// Whether a change of the rule has not come to its end for some parent.
    pub(super) fn doubts_rule(&self) -> bool {
        self.suspects.values().any(|suspect| suspect.cause == Cause::Rule)
    }

    /// Whether deletions of this parent may come from such a change.
    pub(super) fn is_suspect(&self, parent: &ObjectId) -> bool {
        self.suspects.contains_key(parent)
    }

    /// How many objects are held back.
    pub(super) fn withheld(&self) -> usize {
        self.withheld.len()
    }

    /// Asked by a pass that would delete these objects of a parent.
    pub(super) fn ask(
        &mut self,
        parent: &ObjectId,
        edition: u64,
        doomed: &[ObjectId],
        now: Instant,
    ) -> Answer {
        let Some(suspect) = self.suspects.get_mut(parent) else { return Answer::All };
        let first = *suspect.edition.get_or_insert(edition);
        if suspect.cause == Cause::Input && first != edition {
            // Its owner changed it since: that is a wish.
            self.suspects.remove(parent);
            return Answer::All;
        }
        let fresh = self.looked.is_some_and(|at| now.duration_since(at) < FRESH);
        let mut not = BTreeMap::new();
        for id in doomed.iter().filter(|id| !self.allowed.contains(*id)) {
            match self.withheld.get(id) {
                Some(withheld) if fresh => not.insert(id.clone(), withheld.clone()),
                _ => return Answer::Unknown,
            };
        }
        if not.is_empty() { Answer::All } else { Answer::Not(not) }
    }

    /// All parents were looked at. `allow` is what somebody allowed, by its token. Gives what is held back now, a line per
    /// child, if that is something else than before.
    pub(super) fn judge(
        &mut self,
        census: BTreeMap<String, Census>,
        allow: Option<&str>,
        now: Instant,
    ) -> Option<Vec<Withheld>> {
        let spent = self.spent.clone();
        let too_much = |child: &String, census: &Census| {
            let spent = spent.get(child).copied().unwrap_or_default();
            census.doomed.len() > FEW.max((census.objects + spent) / 10).saturating_sub(spent)
        };
        // What was allowed once goes on being so, although less is left of it.
        let left = |census: &Census| {
            let left = census.doomed.iter().filter(|(id, _)| !self.allowed.contains(*id));
            left.map(|(id, uid)| (id.clone(), uid.clone())).collect::<BTreeMap<_, _>>()
        };
        let (over, within): (Vec<_>, Vec<_>) = census
            .into_iter()
            .map(|(child, census)| (child, Census { doomed: left(&census), ..census }))
            .partition(|(child, census)| !census.doomed.is_empty() && too_much(child, census));
        let all = over.iter().flat_map(|(_, census)| &census.doomed);
        let all: Vec<String> = all.map(|(id, uid)| format!("{id} {uid}")).collect();
        let token = format!("{:08x}", hash64(all.join("\n").as_bytes()) >> 32);
        let before = std::mem::take(&mut self.withheld);
        let mut lines = Vec::new();
        for (child, census) in within {
            *self.spent.entry(child).or_default() += census.doomed.len();
            self.allowed.extend(census.doomed.into_keys());
        }
        for (child, census) in over {
            if allow == Some(token.as_str()) {
                self.allowed.extend(census.doomed.into_keys());
                continue;
            }
            let (doomed, objects) = (census.doomed.len(), census.objects);
            let withheld = Withheld { child, doomed, objects, token: token.clone() };
            let ids = census.doomed.into_keys();
            self.withheld.extend(ids.map(|id| (id, withheld.clone())));
            lines.push(withheld);
        }
        self.looked = Some(now);
        self.told |= !lines.is_empty();
        (before != self.withheld).then_some(lines)
    }

    /// Whether somebody was told that something is held back, which is no longer so. Said once.
    pub(super) fn is_relieved(&mut self) -> bool {
        let relieved = self.told && self.withheld.is_empty();
        self.told &= !relieved;
        relieved
    }

    /// How many parents and objects it keeps.
    pub(super) fn kept(&self) -> usize {
        self.suspects.len() + self.allowed.len() + self.withheld.len()
    }

    /// A pass for a parent has ended, with everything deleted that it wanted deleted.
    pub(super) fn cleared(&mut self, parent: &ObjectId) {
        self.suspects.remove(parent);
        if self.suspects.is_empty() {
            self.allowed.clear();
            self.spent.clear();
            self.withheld.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marks::parse_id;

    fn id(text: &str) -> ObjectId {
        parse_id(&format!("ConfigMap shop/{text}")).unwrap()
    }

    fn census(objects: usize, doomed: usize) -> BTreeMap<String, Census> {
        let doomed = (0..doomed).map(|number| (id(&format!("{number}")), "u".into())).collect();
        BTreeMap::from([("config".to_owned(), Census { objects, doomed })])
    }

    fn suspicious(cause: Cause) -> Budget {
        let mut budget = Budget::default();
        budget.suspect([id("parent")], cause);
        budget
    }

    #[test]
    fn a_few_or_a_tenth_may_go_and_more_may_not() {
        let now = Instant::now();
        for (objects, doomed, may) in
            [(5, 5, true), (6, 6, false), (100, 10, true), (100, 11, false)]
        {
            let mut budget = suspicious(Cause::Rule);
            let ask = |budget: &mut Budget| budget.ask(&id("parent"), 1, &[id("0")], now);
            assert_eq!(ask(&mut budget), Answer::Unknown);
            budget.judge(census(objects, doomed), None, now);
            let answer = ask(&mut budget);
            assert_eq!(answer == Answer::All, may, "{doomed} of {objects}: {answer:?}");
        }
    }

    #[test]
    fn what_the_owner_of_a_parent_wants_is_done() {
        let now = Instant::now();
        let mut budget = suspicious(Cause::Input);
        assert_eq!(budget.ask(&id("other"), 1, &[id("0")], now), Answer::All, "not concerned");
        budget.judge(census(9, 9), None, now);
        assert!(matches!(budget.ask(&id("parent"), 1, &[id("0")], now), Answer::Not(_)));
        assert_eq!(budget.ask(&id("parent"), 2, &[id("0")], now), Answer::All, "edited since");
        let mut budget = suspicious(Cause::Rule);
        budget.judge(census(9, 9), None, now);
        assert!(matches!(budget.ask(&id("parent"), 1, &[id("0")], now), Answer::Not(_)));
        assert!(
            matches!(budget.ask(&id("parent"), 2, &[id("0")], now), Answer::Not(_)),
            "an edit does not make a changed rule right"
        );
    }

    #[test]
    fn exactly_what_was_shown_is_allowed() {
        let now = Instant::now();
        let mut budget = suspicious(Cause::Rule);
        let told = budget.judge(census(9, 9), None, now).unwrap();
        let [line] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!((line.child.as_str(), line.doomed, line.objects), ("config", 9, 9));
        assert_eq!(budget.judge(census(9, 9), None, now), None, "told once");
        let token = line.token.clone();
        assert!(budget.judge(census(9, 8), Some(&token), now).is_some(), "others than were shown");
        assert_eq!(budget.withheld(), 8);
        assert!(!budget.is_relieved());
        assert_eq!(budget.judge(census(9, 9), Some(&token), now), Some(vec![]));
        assert!(budget.is_relieved() && !budget.is_relieved(), "said once");
        assert_eq!(budget.ask(&id("parent"), 1, &[id("0"), id("8")], now), Answer::All);
        budget.judge(census(9, 7), Some(&token), now);
        assert_eq!(budget.withheld(), 0, "what is left of it");
        budget.cleared(&id("parent"));
        budget.suspect([id("parent")], Cause::Rule);
        assert_eq!(budget.ask(&id("parent"), 1, &[id("0")], now), Answer::Unknown, "once");
    }

    #[test]
    fn what_shows_little_by_little_is_counted_together() {
        let now = Instant::now();
        let mut budget = suspicious(Cause::Rule);
        budget.judge(census(3, 3), None, now);
        assert_eq!(budget.ask(&id("parent"), 1, &[id("2")], now), Answer::All);
        budget.judge(census(9, 9), None, now);
        assert!(matches!(budget.ask(&id("parent"), 1, &[id("8")], now), Answer::Not(_)));
        assert_eq!(budget.ask(&id("parent"), 1, &[id("2")], now), Answer::All, "as was said");
    }

    #[test]
    fn an_answer_grows_old() {
        let now = Instant::now();
        let mut budget = suspicious(Cause::Rule);
        budget.judge(census(9, 9), None, now);
        let ask = |budget: &mut Budget, at| budget.ask(&id("parent"), 1, &[id("0")], at);
        assert!(matches!(ask(&mut budget, now), Answer::Not(_)));
        assert_eq!(ask(&mut budget, now + FRESH), Answer::Unknown);
        budget.judge(census(9, 9), None, now + FRESH);
        budget.stale();
        assert_eq!(ask(&mut budget, now + FRESH), Answer::Unknown);
    }
}
