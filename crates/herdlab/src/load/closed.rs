//! A closed loop: so many users, each of whom thinks, asks, and waits for the answer before thinking again.
//!
//! It is what most load generators do, and it flatters: a slow answer keeps its user from asking, so a herd
//! never passes the number of users. The open loop of [`super::drive`] is what a service meets whose users are
//! many more than it ever sees at once.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{LoadAccount, Reply};

/// Users to be let loose.
#[derive(Debug)]
pub struct ClosedPlan {
    /// How many.
    pub users: u64,
    /// The mean of the time that one thinks before asking, which is exponential.
    pub think: Duration,
    /// When the first may begin to think.
    pub after: Duration,
    /// No user asks after this long.
    pub length: Duration,
    /// How long the last requests may take then.
    pub patience: Duration,
    /// Decides the thinking.
    pub seed: u64,
}

/// What all users of a loop share.
struct Loop<K, A> {
    account: LoadAccount,
    start: Instant,
    end: Instant,
    think_s: f64,
    /// One stream of chance for all: on one thread the order in which users draw is the same each time.
    random: Mutex<(fastrand::Rng, K)>,
    ask: A,
}

/// Lets the users of `plan` ask for what `key` gives at that time of the run, until its end.
///
/// # Cancel safety
///
/// Dropping the future drops the requests in flight with it.
pub async fn drive_closed<K, A, F>(plan: ClosedPlan, account: LoadAccount, key: K, ask: A)
where
    K: FnMut(Duration) -> u64 + Send + 'static,
    A: Fn(u64) -> F + Send + Sync + 'static,
    F: Future<Output = Reply> + Send + 'static,
{
    let start = Instant::now();
    let shared = Arc::new(Loop {
        account,
        start,
        end: start + plan.length,
        think_s: plan.think.as_secs_f64(),
        random: Mutex::new((fastrand::Rng::with_seed(plan.seed), key)),
        ask,
    });
    tokio::time::sleep_until(start + plan.after).await;
    let mut users = JoinSet::new();
    for _ in 0..plan.users {
        users.spawn(user(Arc::clone(&shared)));
    }
    let rest = async { while users.join_next().await.is_some() {} };
    // Whoever is left after that is aborted, and its guard counts it as cancelled.
    let _ = tokio::time::timeout_at(shared.end + plan.patience, rest).await;
    users.shutdown().await;
}

async fn user<K, A, F>(shared: Arc<Loop<K, A>>)
where
    K: FnMut(Duration) -> u64,
    A: Fn(u64) -> F,
    F: Future<Output = Reply>,
{
    loop {
        // 1 − u lies in (0, 1], so the logarithm is finite.
        let thought_s = -(1.0 - shared.random.lock().0.f64()).ln() * shared.think_s;
        let asks_at = Instant::now() + Duration::from_secs_f64(thought_s);
        if asks_at >= shared.end {
            return;
        }
        tokio::time::sleep_until(asks_at).await;
        let key = (shared.random.lock().1)(asks_at - shared.start);
        let request = shared.account.sent(asks_at);
        request.told((shared.ask)(key).await);
    }
}
