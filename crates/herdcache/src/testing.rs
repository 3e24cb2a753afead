//! A kit for tests of code that reads through a cache. Feature `testing`, for `[dev-dependencies]`.
//!
//! - [`ScriptedOrigin`]: an origin that answers each call as told: a value, an error, after a delay, never, with a panic.
//!   It counts its calls and how many ran at once by itself, so that a test need not believe the account.
//! - [`run_paused`], [`pass`], [`settle`]: time that stands still until the test lets it pass. The feature brings
//!   `test-util`, so the cache's clock follows tokio's.
//! - [`assert_balanced`]: the laws of the account that must hold once nothing runs; a complaint says which of them is
//!   broken, and by how much.
//!
//! The feature `testing-any-clock` is the same without `test-util` and `run_paused`, for suites on the clock of production.
//!
//! # A herd, then an outage
//!
//! ```
//! use std::time::Duration;
//! use herdcache::testing::{Reply, ScriptedOrigin, assert_balanced, pass, run_paused};
//! use herdcache::{Answer, Cache, Gate, LoadContext, Outcome, Ttl};
//!
//! # fn main() -> Result<(), herdcache::ConfigError> {
//! let (minute, hour) = (Duration::from_secs(60), Duration::from_secs(3_600));
//! run_paused(async {
//!     let user = |cx: &LoadContext<u64, String>| Reply::value(format!("user {}", cx.key())).after(Duration::from_millis(20));
//!     let origin = ScriptedOrigin::new(user);
//!     let users = Cache::builder("users", Ttl::fresh_for(minute).stale_if_error_for(hour), &Gate::new(8))
//!         .build_over(origin.clone())?;
//!
//!     // A hundred callers, one call.
//!     let ask = |users: &herdcache::ReadThrough<u64, String, &'static str>| {
//!         let users = users.clone();
//!         tokio::spawn(async move { users.get(&7).await.is_ok_and(|user| user.is_some()) })
//!     };
//!     let callers: Vec<_> = (0..100).map(|_| ask(&users)).collect();
//!     for caller in callers {
//!         assert!(caller.await.is_ok_and(|answered| answered));
//!     }
//!     assert_eq!((origin.calls().started(), origin.calls().peak()), (1, 1));
//!
//!     // Past freshness the database fails: the older value stands in, and the account says so.
//!     pass(minute).await;
//!     origin.next(7, Reply::error("down"));
//!     let user = users.get(&7).await.expect("answered").expect("present");
//!     assert_eq!((user.as_str(), Answer::outcome(&user)), ("user 7", Outcome::Reserve));
//!     assert_eq!(origin.calls_of(&7), 2);
//!     assert_balanced(&users);
//!     Ok(())
//! })
//! # }
//! ```

mod balance;
mod calls;
mod origin;
mod time;

pub use balance::{Balanced, Imbalance, assert_balanced};
pub use calls::{Call, Calls};
pub use origin::{Reply, ScriptedOrigin};
#[cfg(feature = "test-util")]
pub use time::run_paused;
pub use time::{pass, settle};
