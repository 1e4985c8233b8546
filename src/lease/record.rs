//! What a Lease says, and what we may make of it: the rules of client-go, which other programs keep too.
//!
//! In: the Lease as it was read, when it was seen to change, who we are. Out: what to do. A holder is believed until its
//! duration has passed on *our* clock since we last saw the Lease change: the times in it are of other clocks.
//! Never here: requests; a clock.

use super::gate::Moment;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use std::time::Duration;

/// What can be seen of a Lease over time.
#[derive(Debug, Default)]
pub(super) struct Seen {
    last: Option<(LeaseSpec, Moment)>,
}

/// What to do about a Lease.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// It is somebody else's.
    Wait,
    /// It is to be written like this: it is free, or ours.
    Write(Box<LeaseSpec>),
}

/// Who asks for a Lease.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) identity: String,
    /// For how long it is ours after each renewal, in whole seconds.
    pub(super) duration: Duration,
}

impl Seen {
    /// Whether somebody else would hold the Lease as it was last seen.
    pub(super) fn is_held(&self, now: Moment, candidate: &Candidate) -> bool {
        self.last.as_ref().is_some_and(|(spec, since)| {
            let holder = spec.holder_identity.as_deref().unwrap_or_default();
            !holder.is_empty()
                && holder != candidate.identity
                && now < since.after(duration_of(spec))
        })
    }

    /// A Lease was read. `wall` is what is written into it.
    pub(super) fn judge(
        &mut self,
        lease: &Lease,
        (now, wall): (Moment, Timestamp),
        candidate: &Candidate,
    ) -> Step {
        let spec = lease.spec.clone().unwrap_or_default();
        let since = match &self.last {
            Some((last, since)) if *last == spec => *since,
            _ => now,
        };
        self.last = Some((spec.clone(), since));
        if self.is_held(now, candidate) {
            return Step::Wait;
        }
        let is_ours = spec.holder_identity.as_ref() == Some(&candidate.identity);
        let mut written = candidate.spec(wall);
        if is_ours {
            written.acquire_time.clone_from(&spec.acquire_time);
            written.lease_transitions = spec.lease_transitions;
        } else {
            let before = spec.lease_transitions.unwrap_or_default();
            written.lease_transitions = Some(before.saturating_add(1));
        }
        Step::Write(Box::new(written))
    }
}

impl Candidate {
    /// The first Lease.
    pub(super) fn spec(&self, wall: Timestamp) -> LeaseSpec {
        let now = MicroTime(wall);
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: i32::try_from(self.duration.as_secs()).ok(),
            acquire_time: Some(now.clone()),
            renew_time: Some(now),
            lease_transitions: Some(0),
            ..LeaseSpec::default()
        }
    }

    /// Whether a Lease is ours.
    pub(super) fn holds(&self, lease: &Lease) -> bool {
        let spec = lease.spec.as_ref();
        spec.and_then(|spec| spec.holder_identity.as_ref()) == Some(&self.identity)
    }
}

/// A Lease that was given up, as client-go writes it: whoever reads it may take it at once.
pub(super) fn released(lease: &Lease, wall: Timestamp) -> LeaseSpec {
    let now = MicroTime(wall);
    LeaseSpec {
        holder_identity: Some(String::new()),
        lease_duration_seconds: Some(1),
        acquire_time: Some(now.clone()),
        renew_time: Some(now),
        lease_transitions: lease.spec.as_ref().and_then(|spec| spec.lease_transitions),
        ..LeaseSpec::default()
    }
}

fn duration_of(spec: &LeaseSpec) -> Duration {
    let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    Duration::from_secs(seconds.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us() -> Candidate {
        Candidate { identity: "us".into(), duration: Duration::from_secs(15) }
    }

    fn lease(holder: &str, seconds: i32, renewed: i64) -> Lease {
        let time = MicroTime(Timestamp::from_second(renewed).expect("a time"));
        let spec = LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            lease_duration_seconds: Some(seconds),
            acquire_time: Some(time.clone()),
            renew_time: Some(time),
            lease_transitions: Some(3),
            ..LeaseSpec::default()
        };
        Lease { spec: Some(spec), ..Lease::default() }
    }

    fn judge(seen: &mut Seen, lease: &Lease, at: u64) -> Option<LeaseSpec> {
        match seen.judge(lease, (Moment::at(at), Timestamp::UNIX_EPOCH), &us()) {
            Step::Wait => None,
            Step::Write(spec) => Some(*spec),
        }
    }

    #[test]
    fn a_holder_is_believed_for_its_own_duration_after_the_last_change_that_we_saw() {
        let mut seen = Seen::default();
        // However old its times are: they are of another clock.
        assert_eq!(judge(&mut seen, &lease("other", 20, 0), 100), None);
        assert_eq!(judge(&mut seen, &lease("other", 20, 0), 119), None);
        assert_eq!(judge(&mut seen, &lease("other", 20, 5), 119), None, "renewed");
        assert_eq!(judge(&mut seen, &lease("other", 20, 5), 138), None);
        let taken = judge(&mut seen, &lease("other", 20, 5), 139).expect("it ran out");
        assert_eq!(taken.holder_identity.as_deref(), Some("us"));
        assert_eq!((taken.lease_duration_seconds, taken.lease_transitions), (Some(15), Some(4)));
    }

    #[test]
    fn a_lease_that_is_deleted_from_under_its_holder_is_not_free_before_its_time() {
        let mut seen = Seen::default();
        assert!(!seen.is_held(Moment::at(0), &us()), "never seen");
        assert_eq!(judge(&mut seen, &lease("other", 20, 0), 100), None);
        assert!(seen.is_held(Moment::at(119), &us()) && !seen.is_held(Moment::at(120), &us()));
    }

    #[test]
    fn what_is_given_up_is_free_at_once() {
        let given_up = Lease {
            spec: Some(released(&lease("other", 20, 0), Timestamp::UNIX_EPOCH)),
            ..Lease::default()
        };
        let taken = judge(&mut Seen::default(), &given_up, 0).expect("free");
        assert_eq!(taken.lease_transitions, Some(4));
        assert!(judge(&mut Seen::default(), &Lease::default(), 0).is_some(), "an empty one");
    }

    #[test]
    fn a_renewal_keeps_since_when_it_is_ours_and_counts_no_change_of_hands() {
        let ours = lease("us", 15, 7);
        let renewed = judge(&mut Seen::default(), &ours, 0).expect("ours");
        let before = ours.spec.expect("a spec");
        assert_eq!(renewed.acquire_time, before.acquire_time);
        assert_eq!(renewed.lease_transitions, Some(3));
        assert_ne!(renewed.renew_time, before.renew_time);
    }
}
