//! An open-loop load generator for the shop.
//!
//! Requests are sent when they are due, whatever happened to earlier ones, and
//! their latency counts from the moment they were *due*: a shop that stalls for a
//! second shows a second, also to the requests that could not even be sent. It
//! knows the shop by HTTP only; what the database saw it reads from `/stats`.

mod client;
mod lane;
mod record;
mod report;
mod zipf;

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use tokio::time::Instant;

pub use client::Target;
pub use report::{Report, Verdict};

use self::client::{AskError, Client};
use self::lane::{Lane, Shot};
use self::report::{Database, Seen, Warmed};
use self::zipf::Zipf;
use crate::product::{BUNDLES, FIRST_ORDINARY, HOT_BUNDLE};
use crate::stats::StatsPage;

/// Connections for orders: enough for a second of waiting at the default rate, and
/// apart from those for products, so that the generator's own limit never delays them.
const ORDER_CONNECTIONS: u32 = 64;
/// Orders that are asked for; the shop has more.
const ORDERS: u32 = 1_000;
/// Loads that a warm-up asks for at a time: no more than the shop's permits, so that it rejects none.
const WARM_UP_AT_ONCE: u32 = 8;

/// What to send.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The shop.
    pub target: Target,
    /// Product requests per second.
    pub rate: u32,
    /// How long to send.
    pub lasts: Duration,
    /// Ordinary products asked for.
    pub keys: u32,
    /// Exponent of their popularity.
    pub zipf: f64,
    /// Part of the product requests that ask for the hot bundle, 0 to 1.
    pub hot_share: f64,
    /// What to do before measuring.
    pub warm_up: WarmUp,
    /// Seed of the choice of products.
    pub seed: u64,
    /// Requests for orders per second.
    pub orders_rate: u32,
    /// Most connections for products.
    pub connections: u32,
    /// Longest wait for one answer.
    pub timeout: Duration,
    /// How to print the report.
    pub format: Format,
    /// What errors mean for the exit code.
    pub errors: Errors,
}

/// What happens before measuring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// Nothing.
    None,
    /// Each product is asked for once.
    EachKeyOnce,
}

/// How the report is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// What errors mean for the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errors {
    /// They fail the run.
    Fail,
    /// The run was made to show them.
    Expected,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The shop does not answer at all.
    #[error("{target} does not answer as a shop ({source}): is `shop serve` running there?")]
    Unreachable {
        /// Where it was looked for.
        target: Target,
        /// What happened.
        source: AskError,
    },
    /// More products asked for than there are.
    #[error("--keys {asked} is more than the {there} ordinary products of this shop: lower it")]
    TooManyKeys {
        /// What was asked for.
        asked: u32,
        /// What the shop has.
        there: u32,
    },
    /// The warm-up met errors, and none were expected.
    #[error(
        "{failed} of {asked} warm-up requests failed, the last with {last}: is the shop healthy? (--expect-errors goes on)"
    )]
    WarmUp {
        /// How many failed.
        failed: u32,
        /// How many there were.
        asked: u32,
        /// What the last one met.
        last: String,
    },
}

/// Sends what the plan says and reports how it was answered.
///
/// # Errors
///
/// [`LoadError`] when the shop cannot be reached, has too few products or fails the warm-up. What
/// goes wrong after that is part of the report.
///
/// # Cancel safety
///
/// Dropping the future stops the sending; the report is lost.
pub async fn run(plan: &Plan) -> Result<Report, LoadError> {
    let control = Client::new(plan.target.clone(), WARM_UP_AT_ONCE, plan.timeout);
    let there = stats(plan, &control).await?.products - BUNDLES.end();
    if plan.keys > there {
        return Err(LoadError::TooManyKeys { asked: plan.keys, there });
    }
    let warm_up = match plan.warm_up {
        WarmUp::None => Warmed::default(),
        WarmUp::EachKeyOnce => warm_up(plan, &control).await?,
    };

    let products = Lane::new(Client::new(plan.target.clone(), plan.connections, plan.timeout));
    let orders = Lane::new(Client::new(plan.target.clone(), ORDER_CONNECTIONS, plan.timeout));
    let before = stats(plan, &control).await?;
    let began = Instant::now();
    tokio::join!(
        products.drive(plan.rate, plan.lasts, product_shots(plan)),
        orders.drive(plan.orders_rate, plan.lasts, order_shots(plan.seed)),
    );
    let lasted = began.elapsed();
    let after = stats(plan, &control).await?;
    let database = Database::between(&before, &after, lasted);
    let seen = Seen { warm_up, lasted, products: products.record(), orders: orders.record(), database };
    Ok(Report::new(plan, seen))
}

/// The next product request: the hot bundle, or one of the ordinary products by popularity.
fn product_shots(plan: &Plan) -> impl FnMut() -> Shot {
    let mut rng = Rng::with_seed(plan.seed);
    let (zipf, hot_share) = (Zipf::new(plan.keys, plan.zipf), plan.hot_share);
    move || {
        if rng.f64() < hot_share {
            return Shot::hot(product_path(HOT_BUNDLE));
        }
        Shot::other(product_path(FIRST_ORDINARY + zipf.rank(rng.f64())))
    }
}

fn order_shots(seed: u64) -> impl FnMut() -> Shot {
    // Another stream of the same seed, so that the two do not move together.
    let mut rng = Rng::with_seed(seed ^ 0x006f_7264_6572);
    move || Shot::other(format!("/orders/{}", rng.u32(1..=ORDERS)))
}

fn product_path(id: u32) -> String {
    format!("/products/{id}?tenant=acme")
}

/// Asks once for each product and for the hot bundle.
async fn warm_up(plan: &Plan, client: &Arc<Client>) -> Result<Warmed, LoadError> {
    let (mut asked, mut failed, mut last) = (0, 0, String::new());
    let mut running = tokio::task::JoinSet::new();
    let mut ids = (FIRST_ORDINARY..FIRST_ORDINARY + plan.keys).chain([HOT_BUNDLE]);
    loop {
        while running.len() < WARM_UP_AT_ONCE as usize {
            let Some(id) = ids.next() else { break };
            let client = Arc::clone(client);
            running.spawn(async move { client.ask(&product_path(id)).await });
            asked += 1;
        }
        let problem = match running.join_next().await {
            None => break,
            Some(Ok(Ok(reply))) if reply.status == 200 => continue,
            Some(Ok(Ok(reply))) => format!("status {}", reply.status),
            Some(Ok(Err(error))) => error.to_string(),
            Some(Err(_)) => "a panic".to_owned(),
        };
        failed += 1;
        last = problem;
    }
    match plan.errors {
        Errors::Fail if failed > 0 => Err(LoadError::WarmUp { failed, asked, last }),
        Errors::Fail | Errors::Expected => Ok(Warmed { asked, failed }),
    }
}

async fn stats(plan: &Plan, client: &Client) -> Result<StatsPage, LoadError> {
    let reply = match client.ask("/stats").await {
        Ok(reply) => serde_json::from_slice(&reply.body).map_err(|_| AskError::NotAShop),
        Err(error) => Err(error),
    };
    reply.map_err(|source| LoadError::Unreachable { target: plan.target.clone(), source })
}
