//! The command line.

mod values;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Parser, Subcommand};

use self::values::{duration, positive_duration, share, skew, target};
use crate::load::{Errors, Format, Plan, Target, WarmUp};
use crate::settings::{Protection, Settings, Sharing};
#[cfg(feature = "otlp")]
use crate::telemetry::destination::Destination;
use crate::trouble::{SharedTrouble, Trouble};

/// A shop whose products are read through herdcache, and a load generator for it.
#[derive(Debug, Parser)]
#[command(name = "shop", version)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What the program does.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the shop until Ctrl-C or SIGTERM.
    Serve(Box<ServeArgs>),
    /// Send requests at a steady rate and report how they were answered.
    ///
    /// Exits with 1 when a request failed or was answered 5xx, unless --expect-errors is given.
    Load(LoadArgs),
}

/// Arguments of `shop serve`. Durations are written 250ms, 30s, 5m.
#[derive(Debug, ClapArgs)]
pub struct ServeArgs {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:8080")]
    addr: SocketAddr,
    /// Database file, created if there is none [default: shop.db in the temporary folder].
    #[arg(long)]
    db: Option<PathBuf>,
    /// Products of a new database file.
    #[arg(long, default_value_t = 50_000)]
    products: u32,
    /// Connections to the database.
    #[arg(long, default_value_t = 10)]
    connections: u32,
    /// Loads at a time [default: connections - 2, so that orders always find one].
    #[arg(long)]
    permits: Option<usize>,
    /// Loads that may wait for a permit; one more is answered 503 [default: 4 x permits].
    #[arg(long)]
    queue: Option<usize>,
    /// How long ordinary products are fresh.
    #[arg(long, default_value = "60s", value_parser = positive_duration)]
    fresh: Duration,
    /// How long bundles are fresh.
    #[arg(long, default_value = "1s", value_parser = positive_duration)]
    hot_fresh: Duration,
    /// How long after that a value is answered while a refresh runs.
    #[arg(long, default_value = "0s", value_parser = duration)]
    stale_for: Duration,
    /// Limit of one load; its query is stopped there.
    #[arg(long, default_value = "5s", value_parser = positive_duration)]
    origin_timeout: Duration,
    /// Longest wait for a connection.
    #[arg(long, default_value = "1s", value_parser = positive_duration)]
    acquire_timeout: Duration,
    /// Bare cache-aside: every miss goes to the database. Look what happens.
    #[arg(long)]
    no_protection: bool,
    /// Most products in the cache.
    #[arg(long, default_value_t = 100_000)]
    capacity: u64,
    /// Put a shared tier with a lease behind the cache. It lives in this process, so that nobody shares it.
    #[arg(long)]
    shared: bool,
    #[command(flatten)]
    trouble: TroubleArgs,
    #[command(flatten)]
    telemetry: TelemetryArgs,
}

/// What goes wrong on purpose.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Trouble on purpose")]
struct TroubleArgs {
    /// When it begins.
    #[arg(long, default_value = "0s", value_parser = duration)]
    trouble_after: Duration,
    /// Each product query takes this much longer, with its connection held.
    #[arg(long, default_value = "0s", value_parser = duration)]
    slow_origin: Duration,
    /// Part of the product queries that fail, 0 to 1.
    #[arg(long, default_value = "0", value_parser = share)]
    failing_origin: f64,
    /// What is wrong with the shared tier.
    #[arg(long, requires = "shared", value_enum)]
    failing_shared: Option<SharedTrouble>,
}

/// Where metrics and traces go.
#[derive(Clone, Debug, Default, ClapArgs)]
#[command(next_help_heading = "Metrics and traces")]
pub struct TelemetryArgs {
    /// Answer Prometheus at `http://ADDR/metrics`; port 0 takes a free one.
    #[arg(long, value_name = "ADDR")]
    pub prometheus: Option<SocketAddr>,
    /// Send metrics and traces to an OTLP collector, such as `grpc://127.0.0.1:4317` or `http://127.0.0.1:4318`; without
    /// a URL as `OTEL_EXPORTER_OTLP_*` say.
    #[cfg(feature = "otlp")]
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "", value_parser = Destination::parse)]
    pub otlp: Option<Destination>,
    /// Part of the requests that are traced, 0 to 1 [default: 1]. Flights that herdcache has chosen are traced anyway.
    #[cfg(feature = "otlp")]
    #[arg(long, value_name = "SHARE", value_parser = share, requires = "otlp")]
    pub trace_share: Option<f64>,
}

impl ServeArgs {
    /// Where metrics and traces go.
    pub fn telemetry(&self) -> TelemetryArgs {
        self.telemetry.clone()
    }
}

/// Arguments of `shop load`.
#[derive(Debug, ClapArgs)]
pub struct LoadArgs {
    /// The shop.
    #[arg(long, default_value = "http://127.0.0.1:8080", value_parser = target)]
    url: Target,
    /// Product requests per second, sent when due whether or not earlier ones were answered.
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rate: u32,
    /// How long to send.
    #[arg(long = "for", default_value = "30s", value_parser = positive_duration)]
    lasts: Duration,
    /// Ordinary products asked for, the most popular first.
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(1..))]
    keys: u32,
    /// Exponent of their popularity; 0 makes all alike.
    #[arg(long, default_value = "0.99", value_parser = skew)]
    zipf: f64,
    /// Part of the requests that ask for the hot bundle, 0 to 1.
    #[arg(long, default_value = "0.1", value_parser = share)]
    hot_share: f64,
    /// First ask once for each product, a few at a time.
    #[arg(long)]
    warm_up: bool,
    /// The same seed asks for the same products in the same order.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Requests per second for orders, which are not cached; 0 sends none.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(..=10_000))]
    orders_rate: u32,
    /// Most connections for products; requests beyond wait, and their wait is measured.
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,
    /// Longest wait for one answer.
    #[arg(long, default_value = "30s", value_parser = positive_duration)]
    timeout: Duration,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
    /// Exit with 0 in spite of errors.
    #[arg(long)]
    expect_errors: bool,
}

impl From<ServeArgs> for Settings {
    fn from(args: ServeArgs) -> Self {
        Self {
            addr: args.addr,
            db: args.db.unwrap_or_else(|| Self::default().db),
            products: args.products,
            connections: args.connections,
            permits: args.permits,
            queue: args.queue,
            fresh: args.fresh,
            hot_fresh: args.hot_fresh,
            stale_for: args.stale_for,
            origin_timeout: args.origin_timeout,
            acquire_timeout: args.acquire_timeout,
            protection: if args.no_protection { Protection::Off } else { Protection::On },
            capacity: args.capacity,
            sharing: if args.shared { Sharing::InMemory } else { Sharing::None },
            trouble: Trouble {
                after: args.trouble.trouble_after,
                slow_origin: args.trouble.slow_origin,
                failing_origin: args.trouble.failing_origin,
                shared: args.trouble.failing_shared,
            },
        }
    }
}

impl From<LoadArgs> for Plan {
    fn from(args: LoadArgs) -> Self {
        Self {
            target: args.url,
            rate: args.rate,
            lasts: args.lasts,
            keys: args.keys,
            zipf: args.zipf,
            hot_share: args.hot_share,
            warm_up: if args.warm_up { WarmUp::EachKeyOnce } else { WarmUp::None },
            seed: args.seed,
            orders_rate: args.orders_rate,
            connections: args.connections,
            timeout: args.timeout,
            format: if args.json { Format::Json } else { Format::Text },
            errors: if args.expect_errors { Errors::Expected } else { Errors::Fail },
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn the_defaults_of_flags_are_the_defaults_of_settings() {
        let Command::Serve(args) = Args::parse_from(["shop", "serve"]).command else {
            panic!("serve parses as serve");
        };
        assert_eq!(format!("{:?}", Settings::from(*args)), format!("{:?}", Settings::default()));
    }
}
