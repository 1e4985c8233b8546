//! Whatever happens in whatever order, the queue promises what a much simpler one does: keys in a list, looked through each
//! time.

use super::super::lanes::{OVERDUE, OVERDUE_SHARE};
use super::super::state::{GREED, REST};
use super::*;
use proptest::prelude::*;

/// What may happen.
#[derive(Clone, Debug)]
enum Step {
    Add(u32, usize),
    AddAfter(u32, u64, usize),
    Take,
    Done(usize, bool),
    Forget(u32),
    Pass(u64),
}

const KEYS: u32 = 12;
const RUNS: usize = 4;

/// Twelve keys of three flows.
fn key(number: u32) -> u32 {
    (number % 3) * 1_000_000 + number
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = || (0..KEYS).prop_map(key);
    let step = prop_oneof![
        6 => (key(), 0..4_usize).prop_map(|(key, lane)| Step::Add(key, lane)),
        2 => (key(), 0..2000_u64, 0..4_usize).prop_map(|(key, after, lane)| Step::AddAfter(key, after, lane)),
        6 => Just(Step::Take),
        5 => (0..RUNS, any::<bool>()).prop_map(|(run, again)| Step::Done(run, again)),
        1 => key().prop_map(Step::Forget),
        3 => (0..700_u64).prop_map(Step::Pass),
        1 => Just(Step::Pass(31_000)),
    ];
    prop::collection::vec(step, 0..200)
}

/// What is wanted of a key, as simply as it can be said.
#[derive(Clone, Debug)]
struct Wish {
    key: u32,
    lane: Lane,
    since: Instant,
    /// Not before.
    due: Instant,
    /// It was not due yet when somebody looked last: of several such the earliest counts, and the most urgent.
    timer: bool,
}

/// Keys that somebody wants looked at and that were not handed out since, and keys that run.
#[derive(Default)]
struct Model {
    wishes: Vec<Wish>,
    running: Vec<(u32, Lane)>,
    drifted: Vec<(u32, Instant)>,
    in_order: u32,
}

impl Model {
    fn add_after(&mut self, key: u32, due: Instant, lane: Lane) {
        match self.wishes.iter_mut().find(|wish| wish.key == key && wish.timer) {
            Some(wish) => (wish.due, wish.lane) = (wish.due.min(due), wish.lane.min(lane)),
            None => self.wishes.push(Wish { key, lane, since: due, due, timer: true }),
        }
    }

    fn may_run(&self, wish: &Wish, now: Instant) -> bool {
        let held = |flow| self.running.iter().filter(|(key, _)| key.flow() == flow).count();
        let rests = self.drifted.iter().any(|(key, ran)| *key == wish.key && now < *ran + REST);
        wish.due <= now
            && !(rests && self.lane(wish.key, now) == Some(Drift))
            && self.running.iter().all(|(key, _)| *key != wish.key)
            && held(wish.key.flow()) < (RUNS - self.running.len()) * GREED
    }

    /// The most urgent lane in which a key is wanted now.
    fn lane(&self, key: u32, now: Instant) -> Option<Lane> {
        let wishes = self.wishes.iter().filter(|wish| wish.key == key && wish.due <= now);
        wishes.map(|wish| wish.lane).min()
    }

    /// A key was handed out, or none was: was that right?
    fn took(&mut self, taken: Option<u32>, now: Instant) -> Result<(), TestCaseError> {
        for wish in self.wishes.iter_mut().filter(|wish| wish.timer && wish.due <= now) {
            (wish.timer, wish.since) = (false, now);
        }
        let may: Vec<&Wish> = self.wishes.iter().filter(|wish| self.may_run(wish, now)).collect();
        let Some(key) = taken else {
            prop_assert!(may.is_empty(), "nobody is kept waiting: {may:?}");
            return Ok(());
        };
        prop_assert!(may.iter().any(|wish| wish.key == key), "{key} is due and may run: {may:?}");
        let since = |key| {
            may.iter().filter(|wish| wish.key == key).map(|wish| wish.since).min().unwrap_or(now)
        };
        let is_overdue = may.iter().any(|wish| now.duration_since(wish.since) > OVERDUE);
        if is_overdue {
            self.in_order += 1;
            let oldest = may.iter().map(|wish| wish.since).min().unwrap_or(now);
            if since(key) == oldest {
                self.in_order = 0;
            }
            prop_assert!(self.in_order < OVERDUE_SHARE, "the oldest is among any four");
        } else {
            self.in_order = 0;
        }
        let lane = self.lane(key, now).unwrap_or(Bulk);
        self.wishes.retain(|wish| wish.key != key);
        self.running.push((key, lane));
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn it_promises_what_a_list_does(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time().start_paused(true).build().unwrap();
        runtime.block_on(run(steps))?;
    }
}

async fn run(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let queue = queue().shared_by(RUNS);
    let mut model = Model::default();
    for step in steps {
        let now = Instant::now();
        match step {
            Step::Add(key, lane) => {
                queue.add(key, Lane::ALL[lane]);
                let lane = Lane::ALL[lane];
                model.wishes.push(Wish { key, lane, since: now, due: now, timer: false });
            }
            Step::AddAfter(key, after, lane) => {
                let after = Duration::from_millis(after);
                queue.add_after(key, after, Lane::ALL[lane]);
                model.add_after(key, now + after, Lane::ALL[lane]);
            }
            Step::Take => take(&queue, &mut model).await?,
            Step::Done(run, again) if run < model.running.len() => {
                let (key, _) = model.running.remove(run);
                let later = if again { Again::After(SECOND, Drift) } else { Again::No };
                queue.done(&key, later);
                if again && model.wishes.iter().all(|wish| wish.key != key || wish.timer) {
                    model.add_after(key, now + SECOND, Drift);
                }
            }
            Step::Done(..) => {}
            Step::Forget(key) => {
                queue.forget(|other| *other == key);
                model.wishes.retain(|wish| wish.key != key);
                if model.running.iter().all(|(running, _)| *running != key) {
                    model.drifted.retain(|(other, _)| *other != key);
                }
            }
            Step::Pass(millis) => advance(Duration::from_millis(millis)).await,
        }
    }
    // Nothing is lost: whatever is wanted is handed out, and then there is nothing left.
    for (key, _) in std::mem::take(&mut model.running) {
        queue.done(&key, Again::No);
    }
    let mut wanted: Vec<u32> = model.wishes.iter().map(|wish| wish.key).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let mut handed = Vec::new();
    while let Ok(Some(key)) = timeout(Duration::from_mins(2), queue.next()).await {
        queue.done(&key, Again::No);
        handed.push(key);
    }
    handed.sort_unstable();
    handed.dedup();
    prop_assert!(wanted.iter().all(|key| handed.contains(key)), "{wanted:?} {handed:?}");
    queue.state().forget_rests(Instant::now());
    prop_assert_eq!(queue.state().keys.len(), 0);
    Ok(())
}

async fn take(queue: &Queue<u32>, model: &mut Model) -> Result<(), TestCaseError> {
    let now = Instant::now();
    let taken = ready(queue).await;
    model.took(taken, now)?;
    if let Some(key) = taken
        && queue.lane_of(&key) == Some(Drift)
    {
        model.drifted.retain(|(other, _)| *other != key);
        model.drifted.push((key, now));
    }
    Ok(())
}
