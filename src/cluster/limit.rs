//! How many requests may be under way: more while the server takes them, half when it says that it is busy.
//!
//! In: answers, and when their requests were sent. Out: a number, and from when on requests may be sent again. Never here:
//! requests; who is next; a clock.

use std::time::Duration;
use tokio::time::Instant;

/// What is begun with.
const FIRST: f64 = 16.0;

/// However well it goes, no more.
pub(super) const MOST: f64 = 32.0;

/// However badly it goes, no less: of fewer, one that hangs would hold up too many others.
const LEAST: f64 = 4.0;

/// However long the server wants to be left alone, it is asked again after this time.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// What an answer says about the server as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    /// It had room for the request, whatever it said to it.
    Taken,
    /// It has too much to do; perhaps it says how long it wants to be left alone.
    Busy(Option<Duration>),
    /// Nothing: there was no answer.
    Unknown,
}

/// Additive increase, multiplicative decrease.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    most: f64,
    /// How often it was halved.
    round: u64,
    resumes: Option<Instant>,
}

impl Limit {
    pub(super) const fn new() -> Self {
        Self { most: FIRST, round: 0, resumes: None }
    }

    /// So many requests may be under way.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is between LEAST and MOST"
    )]
    pub(super) fn most(&self) -> usize {
        self.most as usize
    }

    /// What a request has to remember: an answer to one that was sent before the last halving says nothing new.
    pub(super) fn round(&self) -> u64 {
        self.round
    }

    /// Until when nothing may be sent.
    pub(super) fn pause(&self, now: Instant) -> Option<Instant> {
        self.resumes.filter(|resumes| now < *resumes)
    }

    /// An answer came to a request of a round; `full` says whether as many were under way as may be. Tells whether there is a
    /// pause that was not there, or a longer one.
    pub(super) fn answered(&mut self, round: u64, load: Load, full: bool, now: Instant) -> bool {
        let current = round == self.round;
        match load {
            Load::Taken if current && full => {
                // One more for each time around.
                self.most = (self.most + 1.0 / self.most).min(MOST);
                false
            }
            Load::Taken | Load::Unknown => false,
            Load::Busy(asked) => {
                if current {
                    self.most = (self.most / 2.0).max(LEAST);
                    self.round += 1;
                }
                let resumes = asked.map(|asked| now + asked.min(LONGEST_PAUSE));
                let longer = resumes > self.resumes;
                self.resumes = self.resumes.max(resumes);
                longer
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn it_is_halved_once_for_all_that_were_under_way_and_not_below_the_least() {
        let (mut limit, now) = (Limit::new(), Instant::now());
        let before = limit.round();
        for _ in 0..16 {
            limit.answered(before, Load::Busy(None), true, now);
        }
        assert_eq!(limit.most(), 8, "sixteen refusals of one round are one sign");
        limit.answered(limit.round(), Load::Busy(None), false, now);
        assert_eq!(limit.most(), 4);
        for _ in 0..10 {
            limit.answered(limit.round(), Load::Busy(None), true, now);
        }
        assert_eq!(limit.most(), 4);
    }

    #[test]
    fn it_rises_by_one_each_time_around_while_it_is_needed_and_not_above_the_most() {
        let (mut limit, now) = (Limit::new(), Instant::now());
        for _ in 0..100 {
            limit.answered(0, Load::Taken, false, now);
        }
        assert_eq!(limit.most(), 16, "nobody needed more");
        for _ in 0..17 {
            limit.answered(0, Load::Taken, true, now);
        }
        assert_eq!(limit.most(), 17);
        for _ in 0..10_000 {
            limit.answered(0, Load::Taken, true, now);
        }
        assert_eq!(limit.most(), 32);
    }

    #[test]
    fn after_a_halving_old_answers_raise_nothing_and_new_ones_bring_it_back() {
        let (mut limit, now) = (Limit::new(), Instant::now());
        limit.answered(0, Load::Busy(None), true, now);
        for _ in 0..1000 {
            limit.answered(0, Load::Taken, true, now);
            limit.answered(1, Load::Unknown, true, now);
        }
        assert_eq!(limit.most(), 8);
        // 8 + 9 + … + 15 answers, and a few since each is worth a little less than the one before.
        let mut answers = 0;
        while limit.most() < 16 {
            limit.answered(1, Load::Taken, true, now);
            answers += 1;
        }
        assert!((92..=104).contains(&answers), "{answers}");
    }

    #[test]
    fn the_longest_of_several_pauses_counts_up_to_a_minute() {
        let (mut limit, now) = (Limit::new(), Instant::now());
        let mut busy = |seconds| limit.answered(0, Load::Busy(Some(seconds * SECOND)), true, now);
        assert!(busy(2), "it was not there");
        assert!(!busy(1), "shorter");
        assert!(busy(3600), "longer");
        assert_eq!(limit.pause(now), Some(now + 60 * SECOND));
        assert_eq!(limit.pause(now + 60 * SECOND), None);
    }
}
