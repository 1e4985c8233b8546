//! Who gets how much: lanes, flows, who waits too long, who takes too long, and who changes too often.

use super::super::lanes::OVERDUE;
use super::super::state::REST;
use super::*;

const MILLI: Duration = Duration::from_millis(1);

/// A key of a flow.
fn of(flow: u32, key: u32) -> u32 {
    flow * 1_000_000 + key
}

/// The flows of so many keys, each of which is done at once.
async fn flows(queue: &Queue<u32>, keys: usize) -> Vec<u32> {
    let mut flows = Vec::new();
    for _ in 0..keys {
        let key = ready(queue).await.expect("one waits");
        queue.done(&key, Again::No);
        flows.push(key.flow());
    }
    flows
}

#[tokio::test(start_paused = true)]
async fn thousands_of_keys_of_one_rule_do_not_hold_up_another() {
    for lane in Lane::ALL {
        let queue = queue();
        for key in 0..5000 {
            queue.add(of(1, key), lane);
        }
        for key in 0..3 {
            queue.add(of(2, key), lane);
            queue.add(of(3, key), lane);
        }
        assert_eq!(flows(&queue, 12).await, [1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 1, 1], "{lane:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_that_comes_again_and_again_takes_its_turn_like_all_others() {
    let queue = queue();
    queue.add(of(1, 0), Edit);
    for key in 0..5 {
        queue.add(of(2, key), Edit);
    }
    let mut order = Vec::new();
    while order.len() < 10 {
        let key = ready(&queue).await.unwrap();
        queue.add(of(1, 0), Edit);
        queue.done(&key, Again::No);
        order.push(key.flow());
    }
    assert_eq!(order, [1, 2, 1, 2, 1, 2, 1, 2, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn whoever_leaves_and_comes_back_wins_no_turn_by_it() {
    let queue = queue();
    for flow in 1..=3 {
        queue.add(of(flow, 0), Edit);
        queue.add(of(flow, 1), Edit);
    }
    assert_eq!(flows(&queue, 1).await, [1]);
    queue.forget(|key| key.flow() == 1);
    queue.add(of(1, 2), Edit);
    assert_eq!(flows(&queue, 5).await, [2, 3, 1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn an_edit_during_a_full_resync_is_among_the_next_passes() {
    let queue = queue();
    for key in 0..10_000 {
        queue.add(of(1, key), Bulk);
    }
    assert_eq!(flows(&queue, 3000).await.len(), 3000);
    queue.add(of(1, 9_999), Edit);
    assert_eq!(ready(&queue).await, Some(of(1, 9_999)), "although it waits in bulk already");
    // Bulk that has waited too long takes one in four besides its share, and no more.
    advance(2 * OVERDUE).await;
    for key in 20_000..20_010 {
        queue.add(of(1, key), Edit);
    }
    let mut order = Vec::new();
    for _ in 0..12 {
        order.push(ready(&queue).await.unwrap());
    }
    let edits = order.iter().filter(|key| **key >= of(1, 20_000)).count();
    assert_eq!(edits, 7, "{order:?}");
}

#[tokio::test(start_paused = true)]
async fn whoever_waited_too_long_gets_one_run_in_four() {
    let queue = queue();
    queue.add(of(100, 0), Bulk);
    queue.add(of(100, 1), Bulk);
    advance(OVERDUE + SECOND).await;
    for key in 0..1000 {
        queue.add(of(1, key), Finish);
    }
    assert_eq!(flows(&queue, 8).await, [1, 1, 1, 100, 1, 1, 1, 100]);
}

#[tokio::test(start_paused = true)]
async fn a_rule_whose_runs_hang_leaves_runs_for_others() {
    let queue = queue().shared_by(32);
    for key in 0..100 {
        queue.add(of(1, key), Bulk);
    }
    let mut hanging = Vec::new();
    while let Some(key) = ready(&queue).await {
        hanging.push(key);
    }
    assert_eq!(hanging.len(), 22);
    for key in 0..100 {
        queue.add(of(2, key), Bulk);
    }
    let mut more = Vec::new();
    while let Some(key) = ready(&queue).await {
        more.push(key.flow());
    }
    assert_eq!(more, [2; 7]);
    queue.add(of(3, 0), Bulk);
    assert_eq!(flows(&queue, 1).await, [3], "whoever comes next finds one");
    assert_eq!(queue.depth().running, 29);
    for key in hanging {
        queue.done(&key, Again::No);
    }
    assert!(ready(&queue).await.is_some(), "what is over is free");
}

#[tokio::test(start_paused = true)]
async fn one_worker_serves_all_rules() {
    let queue = queue().shared_by(1);
    for flow in [1, 2, 1, 3] {
        queue.add(of(flow, 0), Drift);
    }
    assert_eq!(ready(&queue).await, Some(of(1, 0)));
    assert_eq!(ready(&queue).await, None);
    queue.done(&of(1, 0), Again::No);
    assert_eq!(flows(&queue, 2).await, [2, 3]);
}

/// Whoever sleeps because a flow has enough is woken when a run of it ends.
#[tokio::test(start_paused = true)]
async fn a_run_that_ends_makes_room_for_the_next_of_its_rule() {
    let queue = Arc::new(queue().shared_by(3));
    for key in 0..3 {
        queue.add(of(1, key), Edit);
    }
    assert_eq!(ready(&queue).await, Some(of(1, 0)));
    assert_eq!(ready(&queue).await, Some(of(1, 1)));
    let sleeper = Arc::clone(&queue);
    let sleeper = tokio::spawn(async move { sleeper.next().await });
    tokio::task::yield_now().await;
    assert!(!sleeper.is_finished());
    queue.done(&of(1, 0), Again::No);
    assert_eq!(timeout(SECOND, sleeper).await.unwrap().unwrap(), Some(of(1, 2)));
}

#[tokio::test(start_paused = true)]
async fn chatter_is_looked_at_at_once_and_then_together() {
    let queue = queue();
    let (begun, mut runs) = (Instant::now(), Vec::new());
    for _ in 0..100 {
        queue.add(1, Drift);
        while let Some(key) = ready(&queue).await {
            runs.push(begun.elapsed());
            queue.done(&key, Again::No);
        }
        advance(20 * MILLI).await;
    }
    assert_eq!(runs[0], Duration::ZERO, "the first at once");
    assert!((7..=9).contains(&runs.len()), "100 changes in two seconds: {runs:?}");
    let apart = |pair: &[Duration]| pair[1].saturating_sub(pair[0]);
    assert!(runs.windows(2).all(|pair| (REST..2 * REST).contains(&apart(pair))));
    // The last change is not lost, and then nothing is known of the key any more.
    queue.add(1, Drift);
    assert_eq!(queue.depth().owed, 1, "it is not at rest yet");
    assert_eq!(queue.next().await, Some(1));
    queue.done(&1, Again::No);
    advance(REST).await;
    assert_eq!(ready(&queue).await, None);
    let known = queue.state().keys.len();
    assert_eq!((known, queue.depth().owed), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_change_during_a_run_for_drift_rests_too_and_an_edit_never_does() {
    let queue = queue();
    queue.add(1, Drift);
    assert_eq!(ready(&queue).await, Some(1));
    queue.add(1, Drift);
    queue.done(&1, Again::No);
    assert_eq!(ready(&queue).await, None, "it rests");
    queue.add(1, Edit);
    assert_eq!(drain(&queue).await, [1]);
    assert_eq!((known(&queue), queue.depth().delayed), (0, 0), "one run for both");
    queue.add(1, Drift);
    queue.forget(|_| true);
    advance(REST).await;
    assert_eq!(ready(&queue).await, None);
    // What an edit sets off is looked at at once.
    queue.add(2, Edit);
    assert_eq!(ready(&queue).await, Some(2));
    queue.done(&2, Again::No);
    queue.add(2, Drift);
    assert_eq!(drain(&queue).await, [2]);
}

#[tokio::test(start_paused = true)]
async fn who_rests_keeps_its_place() {
    let queue = queue();
    queue.add(1, Drift);
    assert_eq!(drain(&queue).await, [1]);
    queue.add(1, Drift);
    for key in 2..5 {
        queue.add(key, Drift);
    }
    advance(REST).await;
    assert_eq!(drain(&queue).await, [1, 2, 3, 4]);
}
