//! Processor sharing against its formulas, in virtual time.

use super::*;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Lets calls begin at the given offsets and tells when each ended.
async fn ends(capacity: f64, calls: &[(u64, u64)]) -> Vec<Duration> {
    let sharing = Sharing::new(capacity);
    let start = Instant::now();
    let mut tasks = Vec::new();
    for &(at, work) in calls {
        let sharing = sharing.clone();
        tasks.push(tokio::spawn(async move {
            tokio::time::sleep_until(start + ms(at)).await;
            assert_eq!(sharing.work(ms(work), ()).await, Done::Worked);
            start.elapsed()
        }));
    }
    let mut ends = Vec::new();
    for task in tasks {
        ends.push(task.await.unwrap());
    }
    ends
}

#[tokio::test(start_paused = true)]
async fn below_capacity_nobody_is_slowed() {
    assert_eq!(ends(10.0, &[(0, 100); 10]).await, vec![ms(100); 10]);
}

/// n simultaneous calls of work w over capacity c end at n·w/c.
#[tokio::test(start_paused = true)]
async fn beyond_capacity_all_end_at_n_w_over_c() {
    for n in [20, 50, 1_000] {
        let all = ends(10.0, &vec![(0, 100); n]).await;
        assert_eq!(all, vec![ms(10 * n as u64); n], "n = {n}");
    }
}

/// c = 1: A (200) from 0; B (100) from 100. Alone A has done 100; then both at half
/// speed: A's and B's last 100 both take 200, so both end at 300.
#[tokio::test(start_paused = true)]
async fn a_late_call_slows_the_early_one() {
    assert_eq!(ends(1.0, &[(0, 200), (100, 100)]).await, [ms(300), ms(300)]);
}

/// c = 1: works 100, 200, 300 together end at 300, 500, 600.
#[tokio::test(start_paused = true)]
async fn a_departure_speeds_up_the_rest() {
    assert_eq!(ends(1.0, &[(0, 100), (0, 200), (0, 300)]).await, [ms(300), ms(500), ms(600)]);
}

#[tokio::test(start_paused = true)]
async fn an_idle_spell_costs_and_saves_nothing() {
    assert_eq!(ends(2.0, &[(0, 100), (5_000, 100)]).await, [ms(100), ms(5_100)]);
}

/// Calls at rate λ with no coalescing, λw > c, until the first answer: it comes at
/// (c/λ)·e^(λw/c − 1).
#[test]
fn the_first_answer_of_a_herd_comes_when_the_formula_says() {
    let (capacity, rate, work) = (25.0, 1_000.0, 0.1);
    let expected = capacity / rate * (rate * work / capacity - 1.0_f64).exp();
    let start = Instant::now();
    let mut running = Running::new(capacity);
    let first = (0..10_000)
        .map(|i| start + Duration::from_secs_f64(f64::from(i) / rate))
        .find(|now| !running.arrive(*now, Duration::from_secs_f64(work), ()).is_empty())
        .unwrap();
    let measured = (first - start).as_secs_f64();
    assert!((measured - expected).abs() < 0.03 * expected, "{measured} for {expected}");
}

/// However late the looks, the sums are those of continuous time.
#[test]
fn late_looks_do_not_change_the_sums() {
    let start = Instant::now();
    let mut running = Running::new(1.0);
    running.arrive(start, ms(100), 'a');
    running.arrive(start, ms(200), 'b');
    running.arrive(start, ms(300), 'c');
    assert_eq!(running.next_departure(), Some(start + ms(300)));
    // One look far beyond two departures: the third has the same end as ever.
    assert_eq!(running.advance(start + ms(550)), ['a', 'b']);
    assert_eq!(running.next_departure(), Some(start + ms(600)));
    assert_eq!(running.advance(start + ms(600)), ['c']);
    assert_eq!(running.next_departure(), None);
}

/// Work is conserved: over any schedule the busy time times the capacity used equals the work done.
#[test]
fn no_work_is_lost_or_made() {
    let mut random = fastrand::Rng::with_seed(4);
    let start = Instant::now();
    let mut running = Running::new(3.0);
    let (mut now, mut work, mut ended) = (start, Duration::ZERO, 0);
    // Kept busy beyond capacity from the first moment, so capacity is used in full.
    for _ in 0..50 {
        let piece = ms(random.u64(900..1_000));
        work += piece;
        ended += running.arrive(now, piece, ()).len();
        now += Duration::from_micros(random.u64(0..5_000));
    }
    let mut last = now;
    while running.calls.len() > 3 {
        last = running.next_departure().unwrap();
        ended += running.advance(last).len();
    }
    let left: f64 = running.calls.iter().map(|call| call.due_s - running.attained_s).sum();
    let done = work.as_secs_f64() - left;
    let busy = (last - start).as_secs_f64() * 3.0;
    assert_eq!(ended, 47);
    assert!(done <= busy && done > busy - 0.03, "{done} done in {busy}");
}

#[tokio::test(start_paused = true)]
async fn the_watcher_ends_with_its_model() {
    let sharing = Sharing::new(1.0);
    let desk = Arc::downgrade(&sharing.inner.desk);
    assert_eq!(sharing.work(ms(10), ()).await, Done::Worked);
    drop(sharing);
    tokio::time::sleep(ms(1)).await;
    assert!(desk.upgrade().is_none());
}
