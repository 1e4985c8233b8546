//! The promises of the queue, on a clock that the tests move.

mod fair;
mod model;

use super::*;
use Lane::{Bulk, Drift, Edit, Finish};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::time::{advance, timeout};

const SECOND: Duration = Duration::from_secs(1);

/// Backoff of 1, 2, 4 … 60 seconds exactly.
fn queue() -> Queue<u32> {
    Queue::new(Backoff { base: SECOND, cap: 60 * SECOND }, || 1.0)
}

/// What can be had without waiting.
async fn ready(queue: &Queue<u32>) -> Option<u32> {
    timeout(Duration::ZERO, queue.next()).await.ok().flatten()
}

async fn drain(queue: &Queue<u32>) -> Vec<u32> {
    let mut keys = Vec::new();
    while let Some(key) = ready(queue).await {
        queue.done(&key, Again::No);
        keys.push(key);
    }
    keys
}

/// Keys that take memory, but for those that only rest from a run.
fn known(queue: &Queue<u32>) -> usize {
    queue.state().keys.values().filter(|entry| !entry.is_idle()).count()
}

/// A million keys for each flow.
impl Keyed for u32 {
    type Flow = u32;

    fn flow(&self) -> u32 {
        self / 1_000_000
    }
}

#[tokio::test(start_paused = true)]
async fn keys_come_in_the_order_they_were_added_and_once_each() {
    let queue = queue();
    for key in [3, 1, 2, 1, 3] {
        queue.add(key, Edit);
    }
    assert_eq!(drain(&queue).await, [3, 1, 2]);
    assert_eq!(known(&queue), 0, "idle keys take no memory");
}

#[tokio::test(start_paused = true)]
async fn a_running_key_is_not_handed_out_again_before_it_is_done() {
    let queue = queue();
    queue.add(1, Edit);
    assert_eq!(queue.next().await, Some(1));
    queue.add(1, Edit);
    queue.add(1, Edit);
    assert_eq!(ready(&queue).await, None);
    queue.done(&1, Again::No);
    assert_eq!(drain(&queue).await, [1], "once for both");
}

#[tokio::test(start_paused = true)]
async fn a_key_added_while_it_runs_keeps_its_place_in_line() {
    let queue = queue();
    queue.add(1, Edit);
    assert_eq!(queue.next().await, Some(1));
    queue.add(1, Edit);
    queue.add(2, Edit);
    queue.done(&1, Again::No);
    assert_eq!(drain(&queue).await, [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn failures_wait_longer_each_time_and_success_forgives() {
    let queue = queue();
    queue.add(1, Edit);
    assert_eq!(queue.next().await, Some(1));
    for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
        queue.done(&1, Again::Failed);
        let failed = Instant::now();
        assert_eq!(queue.next().await, Some(1));
        assert_eq!(failed.elapsed(), seconds * SECOND);
    }
    queue.done(&1, Again::No);
    assert_eq!(known(&queue), 0);
    queue.add(1, Edit);
    assert_eq!(queue.next().await, Some(1));
    queue.done(&1, Again::Failed);
    advance(SECOND).await;
    assert_eq!(ready(&queue).await, Some(1), "the first failure again");
}

#[tokio::test(start_paused = true)]
async fn an_event_retries_a_failed_key_at_once_and_forgives_nothing() {
    let queue = queue();
    queue.add(1, Edit);
    for _ in 0..3 {
        assert_eq!(ready(&queue).await, Some(1));
        queue.done(&1, Again::Failed);
        queue.add(1, Edit);
    }
    assert_eq!(ready(&queue).await, Some(1));
    queue.done(&1, Again::Failed);
    advance(7 * SECOND).await;
    assert_eq!(ready(&queue).await, None, "the fourth failure waits eight seconds");
    advance(SECOND).await;
    assert_eq!(ready(&queue).await, Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_failed_key_owes_nothing() {
    let queue = queue();
    queue.add(1, Finish);
    assert_eq!(ready(&queue).await, Some(1));
    queue.done(&1, Again::Failed);
    assert_eq!((queue.depth().delayed, queue.depth().owed), (1, 0));
    advance(SECOND).await;
    assert_eq!(ready(&queue).await, Some(1));
}

#[tokio::test(start_paused = true)]
async fn an_event_during_a_failing_run_retries_it_at_once() {
    let queue = queue();
    queue.add(1, Edit);
    assert_eq!(queue.next().await, Some(1));
    queue.add(1, Edit);
    queue.done(&1, Again::Failed);
    assert_eq!(ready(&queue).await, Some(1));
    queue.done(&1, Again::Failed);
    advance(SECOND).await;
    assert_eq!(ready(&queue).await, None, "it was the second failure");
}

#[tokio::test(start_paused = true)]
async fn of_two_waits_the_earlier_counts_and_a_run_voids_both() {
    let queue = queue();
    queue.add_after(1, 5 * SECOND, Drift);
    queue.add_after(1, 3 * SECOND, Bulk);
    queue.add_after(1, 9 * SECOND, Bulk);
    assert_eq!(queue.depth().delayed, 1);
    advance(2 * SECOND).await;
    assert_eq!(ready(&queue).await, None);
    let begun = Instant::now();
    assert_eq!(queue.next().await, Some(1));
    assert_eq!(begun.elapsed(), SECOND);
    queue.done(&1, Again::No);
    assert_eq!(known(&queue), 0);

    queue.add_after(1, 5 * SECOND, Drift);
    queue.add(1, Edit);
    assert_eq!(drain(&queue).await, [1]);
    assert_eq!(known(&queue), 0, "the run was the occasion it waited for");
}

#[tokio::test(start_paused = true)]
async fn a_wait_set_during_a_run_outlives_it() {
    let queue = queue();
    queue.add(1, Edit);
    assert_eq!(queue.next().await, Some(1));
    queue.add_after(1, 5 * SECOND, Drift);
    queue.done(&1, Again::After(7 * SECOND, Drift));
    advance(5 * SECOND).await;
    assert_eq!(drain(&queue).await, [1]);
    assert_eq!(known(&queue), 0);

    queue.add(1, Edit);
    assert_eq!(queue.next().await, Some(1));
    queue.add_after(1, 5 * SECOND, Drift);
    advance(6 * SECOND).await;
    assert_eq!(ready(&queue).await, None, "due, but still running");
    queue.done(&1, Again::No);
    assert_eq!(drain(&queue).await, [1]);
}

#[tokio::test(start_paused = true)]
async fn an_absurd_wait_is_no_overflow() {
    let queue = queue();
    queue.add_after(1, Duration::MAX, Drift);
    queue.add(2, Drift);
    assert_eq!(queue.next().await, Some(2));
    queue.done(&2, Again::After(Duration::MAX, Drift));
    assert_eq!(queue.depth().delayed, 2);
}

#[tokio::test(start_paused = true)]
async fn full_lanes_share_eight_four_two_one() {
    let queue = queue();
    for key in 0..100 {
        queue.add(key, Bulk);
        queue.add(1000 + key, Drift);
        queue.add(2000 + key, Edit);
        queue.add(3000 + key, Finish);
    }
    let mut keys = Vec::new();
    for _ in 0..30 {
        keys.push(queue.next().await.unwrap());
    }
    let lane = |key: &u32| key / 1000;
    let round = [3, 3, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 0];
    assert_eq!(keys.iter().map(lane).collect::<Vec<_>>(), [round, round].concat());
    assert_eq!(
        keys.iter().filter(|k| lane(k) == 1).collect::<Vec<_>>(),
        [&1000, &1001, &1002, &1003]
    );
}

#[tokio::test(start_paused = true)]
async fn an_empty_lane_gives_its_share_away_and_a_fresh_edit_overtakes_bulk() {
    let queue = queue();
    for key in 0..50 {
        queue.add(key, Bulk);
    }
    for key in 0..5 {
        assert_eq!(queue.next().await, Some(key));
    }
    queue.add(99, Edit);
    assert_eq!(queue.next().await, Some(99));
    assert_eq!(queue.next().await, Some(5));
}

#[tokio::test(start_paused = true)]
async fn moving_up_keeps_the_place_and_moving_down_does_not_happen() {
    let queue = queue();
    queue.add(1, Bulk);
    queue.add(2, Edit);
    queue.add(3, Edit);
    queue.add(1, Edit);
    queue.add(2, Bulk);
    assert_eq!(queue.depth().waiting, 3);
    assert_eq!(drain(&queue).await, [1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn moving_up_while_running_counts_after_the_run() {
    let queue = queue();
    queue.add(1, Bulk);
    assert_eq!(queue.next().await, Some(1));
    queue.add(1, Bulk);
    queue.add(2, Bulk);
    queue.add(3, Edit);
    queue.add(1, Finish);
    queue.done(&1, Again::No);
    assert_eq!(drain(&queue).await, [1, 3, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_key_comes_back_in_the_lane_it_came_from() {
    let queue = queue();
    queue.add(1, Edit);
    assert_eq!(queue.next().await, Some(1));
    queue.done(&1, Again::Failed);
    for key in 2..5 {
        queue.add(key, Drift);
    }
    advance(SECOND).await;
    assert_eq!(drain(&queue).await, [1, 2, 3, 4]);
}

#[tokio::test(start_paused = true)]
async fn depth_counts_each_key_where_it_is() {
    let queue = queue();
    queue.add(1, Edit);
    advance(SECOND).await;
    queue.add(2, Bulk);
    queue.add(3, Bulk);
    queue.add_after(4, 100 * SECOND, Bulk);
    advance(SECOND).await;
    let depth = Depth { waiting: 3, running: 0, delayed: 1, owed: 0, oldest: 2 * SECOND };
    assert_eq!(queue.depth(), depth);
    assert_eq!(queue.next().await, Some(1));
    queue.add(1, Edit);
    let depth = Depth { waiting: 2, running: 1, delayed: 1, owed: 0, oldest: SECOND };
    assert_eq!(queue.depth(), depth);
}

#[tokio::test(start_paused = true)]
async fn closing_ends_every_wait_and_drops_what_is_left() {
    let queue = Arc::new(queue());
    let sleepers: Vec<_> = (0..3)
        .map(|_| {
            let queue = Arc::clone(&queue);
            tokio::spawn(async move { queue.next().await })
        })
        .collect();
    tokio::task::yield_now().await;
    queue.add_after(1, SECOND, Edit);
    queue.close();
    for sleeper in sleepers {
        assert_eq!(sleeper.await.unwrap(), None);
    }
    queue.add(2, Edit);
    queue.add_after(3, SECOND, Edit);
    assert_eq!(queue.next().await, None);
    assert_eq!((known(&queue), queue.depth().delayed), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn what_is_forgotten_does_not_come_back_unless_it_is_added() {
    let queue = queue();
    for key in 0..4 {
        queue.add(key, Edit);
    }
    assert_eq!(queue.next().await, Some(0));
    queue.add(0, Edit);
    queue.add_after(4, SECOND, Edit);
    queue.add_after(5, SECOND, Edit);
    queue.forget(|key| key % 2 == 0);
    queue.done(&0, Again::No);
    advance(60 * SECOND).await;
    assert_eq!(drain(&queue).await, [1, 3, 5]);
    assert_eq!((known(&queue), queue.depth().delayed), (0, 0));
    queue.add(2, Edit);
    assert_eq!(drain(&queue).await, [2]);
}

#[tokio::test(start_paused = true)]
async fn lanes_tell_who_waits_and_how_long() {
    let queue = queue();
    queue.add(1, Bulk);
    advance(SECOND).await;
    queue.add(2, Edit);
    advance(SECOND).await;
    let none = (0, Duration::ZERO);
    assert_eq!(queue.lanes(), [none, (1, SECOND), none, (1, 2 * SECOND)]);
}

#[tokio::test(start_paused = true)]
async fn a_run_may_end_after_the_close() {
    let queue = queue();
    queue.add(1, Edit);
    assert_eq!(queue.next().await, Some(1));
    queue.close();
    queue.done(&1, Again::Failed);
    assert_eq!((known(&queue), queue.depth().running, queue.depth().delayed), (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn ending_a_run_that_was_not_begun_changes_nothing() {
    let queue = queue();
    queue.done(&1, Again::Failed);
    queue.add(2, Edit);
    queue.done(&2, Again::Failed);
    assert_eq!((known(&queue), queue.depth().waiting, queue.depth().delayed), (1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_wait_takes_nothing_with_it() {
    let queue = queue();
    for _ in 0..3 {
        assert_eq!(ready(&queue).await, None);
    }
    queue.add(1, Edit);
    drop(queue.next());
    assert_eq!(ready(&queue).await, Some(1));
}

#[tokio::test(start_paused = true)]
async fn after_a_quiet_time_the_most_urgent_lane_is_first() {
    let queue = queue();
    queue.add(0, Finish);
    assert_eq!(drain(&queue).await, [0]);
    for (key, lane) in [(1, Bulk), (2, Drift), (3, Edit), (4, Finish)] {
        queue.add(key, lane);
    }
    assert_eq!(drain(&queue).await, [4, 3, 2, 1]);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_run_wakes_whoever_waits() {
    for again in [Again::No, Again::After(SECOND, Drift), Again::Failed] {
        let queue = Arc::new(queue());
        queue.add(1, Edit);
        assert_eq!(queue.next().await, Some(1));
        if again == Again::No {
            queue.add(1, Edit);
        }
        let sleeper = Arc::clone(&queue);
        let sleeper = tokio::spawn(async move { sleeper.next().await });
        tokio::task::yield_now().await;
        queue.done(&1, again);
        let woken = timeout(2 * SECOND, sleeper).await;
        assert_eq!(woken.expect("woken").unwrap(), Some(1), "{again:?}");
    }
}

/// Two sleepers: one is woken to watch the first timer, then gets work and is busy past it.
#[tokio::test(start_paused = true)]
async fn a_timer_is_noticed_although_the_one_who_watched_it_is_busy() {
    let queue = Arc::new(queue());
    let (sent, mut received) = tokio::sync::mpsc::unbounded_channel();
    for _ in 0..2 {
        let (queue, sent) = (Arc::clone(&queue), sent.clone());
        tokio::spawn(async move {
            while let Some(key) = queue.next().await {
                sent.send((key, Instant::now())).unwrap();
                tokio::time::sleep(60 * SECOND).await;
                queue.done(&key, Again::No);
            }
        });
    }
    tokio::task::yield_now().await;
    let begun = Instant::now();
    queue.add_after(1, 2 * SECOND, Edit);
    advance(SECOND).await;
    queue.add(2, Edit);
    assert_eq!(received.recv().await, Some((2, begun + SECOND)));
    assert_eq!(received.recv().await, Some((1, begun + 2 * SECOND)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn under_contention_no_key_is_lost_and_none_runs_twice_at_once() {
    const KEYS: usize = 20;
    const ROUNDS: usize = 2000;
    let queue = Arc::new(Queue::<u32>::default());
    let dirty: Arc<Vec<AtomicBool>> = Arc::new((0..KEYS).map(|_| AtomicBool::new(false)).collect());
    let running: Arc<Vec<AtomicBool>> =
        Arc::new((0..KEYS).map(|_| AtomicBool::new(false)).collect());
    let workers: Vec<_> = (0..8)
        .map(|_| {
            let (queue, dirty, running) =
                (Arc::clone(&queue), Arc::clone(&dirty), Arc::clone(&running));
            tokio::spawn(async move {
                while let Some(handed) = queue.next().await {
                    let key = handed as usize;
                    assert!(!running[key].swap(true, Ordering::SeqCst), "{key} runs twice");
                    dirty[key].store(false, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    running[key].store(false, Ordering::SeqCst);
                    queue.done(&handed, Again::No);
                }
            })
        })
        .collect();
    for round in 0..ROUNDS {
        let key = (round * 7) % KEYS;
        dirty[key].store(true, Ordering::SeqCst);
        queue.add(u32::try_from(key).unwrap(), if round % 3 == 0 { Edit } else { Bulk });
        if round % 50 == 0 {
            tokio::task::yield_now().await;
        }
    }
    let idle = || {
        let depth = queue.depth();
        depth.waiting + depth.running == 0
    };
    timeout(30 * SECOND, async {
        while !idle() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("every key is handed out");
    assert!(dirty.iter().all(|flag| !flag.load(Ordering::SeqCst)), "a run follows every add");
    queue.close();
    for worker in workers {
        worker.await.unwrap();
    }
}
