//! The generator in virtual time, with answers made by hand.

use super::*;
use crate::arrivals::{KeyChoice, Pacing};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn plan(per_second: f64, length: Duration, most_in_flight: usize) -> Plan {
    Plan {
        arrivals: Arrivals::new(Pacing::Constant, per_second, KeyChoice::zipf(10, 0.99), 1),
        length: Some(length),
        most_in_flight,
        patience: ms(5_000),
    }
}

async fn hit(_: u64) -> Reply {
    tokio::time::sleep(ms(20)).await;
    Reply { outcome: Some(Outcome::Hit), age: Some(ms(3)) }
}

#[tokio::test(start_paused = true)]
async fn every_request_is_sent_and_told_once() {
    let account = LoadAccount::new();
    drive(plan(100.0, ms(1_000), 1_000), account.clone(), Stop::default(), hit).await;
    let figures = account.figures();
    // Arrivals at 10, 20, …, 990 ms.
    assert_eq!([figures.requests, figures.outcomes[Outcome::Hit]], [99, 99]);
    assert_eq!([figures.in_flight, figures.dropped_arrivals], [0, 0]);
    let latency = figures.latency.unwrap();
    assert!((latency.p50 - 20.0).abs() < 0.1 && (latency.max - 20.0).abs() < 0.1, "{latency:?}");
}

#[tokio::test(start_paused = true)]
async fn beyond_the_bound_arrivals_are_dropped_and_counted() {
    let account = LoadAccount::new();
    // 1,000 a second that take 20 ms each would be 20 in flight.
    drive(plan(1_000.0, ms(1_000), 5), account.clone(), Stop::default(), hit).await;
    let figures = account.figures();
    assert_eq!(figures.peak_in_flight, 5);
    assert_eq!(figures.requests + figures.dropped_arrivals, 999);
    assert!((240..=260).contains(&figures.requests), "{}", figures.requests);
}

#[tokio::test(start_paused = true)]
async fn latency_counts_from_the_intended_start() {
    let account = LoadAccount::new();
    let request = account.sent(Instant::now());
    tokio::time::advance(ms(70)).await;
    request.told(Reply { outcome: Some(Outcome::Stale), age: Some(ms(1_500)) });
    let figures = account.figures();
    assert!((figures.latency.unwrap().max - 70.0).abs() < 0.1);
    assert!((figures.stale_age.unwrap().p99 - 1_500.0).abs() < 2.0);
    assert_eq!((figures.oldest_stale, figures.oldest_reserve), (ms(1_500), ms(0)));
    for age in [2_500, 900] {
        account.sent(Instant::now()).told(Reply { outcome: Some(Outcome::Reserve), age: Some(ms(age)) });
    }
    let figures = account.figures();
    assert_eq!((figures.oldest_stale, figures.oldest_reserve), (ms(1_500), ms(2_500)));
}

#[tokio::test(start_paused = true)]
async fn who_outlasts_the_patience_is_cancelled_and_counted() {
    let account = LoadAccount::new();
    let never = |_| std::future::pending::<Reply>();
    drive(plan(10.0, ms(1_000), 100), account.clone(), Stop::default(), never).await;
    let figures = account.figures();
    assert_eq!([figures.requests, figures.outcomes[Outcome::Cancelled]], [9, 9]);
    assert_eq!(figures.in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_an_endless_load() {
    let (account, stop) = (LoadAccount::new(), Stop::default());
    let endless = Plan { length: None, ..plan(100.0, ms(0), 1_000) };
    let load = tokio::spawn(drive(endless, account.clone(), stop.clone(), hit));
    tokio::time::sleep(ms(505)).await;
    stop.now();
    load.await.unwrap();
    assert_eq!(account.figures().outcomes[Outcome::Hit], 50);
}

/// N users who think for Z and wait R for an answer ask N/(Z + R) times a second, and never more than N wait at once.
#[tokio::test(start_paused = true)]
async fn a_closed_loop_asks_as_often_as_its_users_can() {
    let account = LoadAccount::new();
    let plan =
        ClosedPlan { users: 50, think: ms(80), after: ms(1_000), length: ms(101_000), patience: ms(1_000), seed: 3 };
    drive_closed(plan, account.clone(), |_| 1, hit).await;
    let figures = account.figures();
    // A cycle is 100 ms, and half a millisecond more since a timer fires at the next whole one.
    let expected = 100.0_f64 * 50.0 / 0.1005;
    // Counts of a renewal process: gaps of 80 ± 80 ms and 20 ms have a deviation of 0.8 of their mean.
    let sigma = expected.sqrt() * 0.8;
    assert!((figures.requests as f64 - expected).abs() < 4.0 * sigma, "{} for {expected}", figures.requests);
    assert!(figures.peak_in_flight <= 50 && figures.in_flight == 0);
    assert_eq!(figures.outcomes[Outcome::Hit], figures.requests);
}

#[tokio::test(start_paused = true)]
async fn a_user_who_never_gets_an_answer_asks_once() {
    let account = LoadAccount::new();
    let plan = ClosedPlan { users: 7, think: ms(10), after: ms(0), length: ms(1_000), patience: ms(500), seed: 1 };
    drive_closed(plan, account.clone(), |_| 1, |_| std::future::pending::<Reply>()).await;
    let figures = account.figures();
    assert_eq!([figures.requests, figures.outcomes[Outcome::Cancelled]], [7, 7]);
}
