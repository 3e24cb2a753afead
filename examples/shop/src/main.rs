//! The shop's program: `shop serve` and `shop load`.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use shop::cli::{Args, Command, ServeArgs};
use shop::load::{self, Plan, Verdict};
use shop::telemetry::{Deliveries, Telemetry};
use shop::{Protection, Shop};
use tokio::runtime::Builder;

fn main() -> ExitCode {
    let ended = match Args::parse().command {
        Command::Serve(args) => serve(*args),
        Command::Load(args) => run_load(&args.into()),
    };
    ended.unwrap_or_else(|error| {
        // Nothing can be done where even the error stream is closed.
        let _ = writeln!(io::stderr(), "shop: {error}");
        ExitCode::FAILURE
    })
}

type Ended = Result<ExitCode, Box<dyn std::error::Error>>;

fn serve(args: ServeArgs) -> Ended {
    let telemetry = args.telemetry();
    let settings = args.into();
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    // Signals have to be registered within the runtime; everything else that starts here has threads of its own.
    let told_to_end = runtime.block_on(async { stop_signal() })?;
    let protection = settings_line(&settings);
    let shop = runtime.block_on(Shop::bind(settings))?;
    let telemetry = Telemetry::start(&shop, &telemetry)?;
    if let Some(dispatch) = telemetry.as_ref().and_then(Telemetry::dispatch) {
        tracing::dispatcher::set_global_default(dispatch.clone())?;
    }
    // The feed has a thread of its own and a dashboard may be refused it: the shop sells all the same.
    let feed = herdcache::Feed::builder("shop").version(env!("CARGO_PKG_VERSION")).start();
    let mut out = io::stdout().lock();
    writeln!(out, "shop: listening on http://{} ({protection})", shop.address()?)?;
    match feed.as_ref().map(herdcache::Feed::address) {
        Ok(Some(address)) => writeln!(out, "shop: live feed at {address}")?,
        Ok(None) => writeln!(out, "shop: the live feed is off")?,
        Err(error) => writeln!(out, "shop: no live feed: {error}")?,
    }
    if let Some(address) = telemetry.as_ref().and_then(Telemetry::page) {
        writeln!(out, "shop: metrics at http://{address}/metrics")?;
    }
    out.flush()?;
    drop(out);
    // The order of the end. First the server, which takes no more requests and lets those in progress finish, and then the
    // cache, which ends its loads and counts the last outcomes: `Shop::run` does both.
    let ended = runtime.block_on(shop.run(told_to_end));
    // Readers go last, so that they see how the shop ended: the feed, then spans, then metrics, then herdcache's handle.
    drop(feed);
    if let Some(telemetry) = telemetry {
        tell_losses(telemetry.shutdown());
    }
    ended?;
    Ok(ExitCode::SUCCESS)
}

/// Says what no collector has taken. Totals of metrics are in every collection, so only the last one matters.
fn tell_losses(sent: Deliveries) {
    let mut out = io::stderr().lock();
    // Nothing can be done where even the error stream is closed.
    if sent.metrics.failing {
        let _ = writeln!(out, "shop: the last metrics were not sent");
    }
    if sent.spans.lost() > 0 {
        let _ = writeln!(out, "shop: {} of {} spans were lost", sent.spans.lost(), sent.spans.handed_over);
    }
}

fn settings_line(settings: &shop::Settings) -> String {
    let protection = match settings.protection {
        Protection::On => format!("{} permits", settings.permits()),
        Protection::Off => "NO PROTECTION".to_owned(),
    };
    let stale = if settings.stale_for.is_zero() {
        "no stale answers".to_owned()
    } else {
        format!("stale answers for {:?}", settings.stale_for)
    };
    format!("{protection}, {} connections, {stale}", settings.connections)
}

/// Ends at the first Ctrl-C or SIGTERM. Registered before the start, so that a
/// signal that comes early is not lost.
#[cfg(unix)]
fn stop_signal() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Ends at the first Ctrl-C.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "one signature on every system")]
fn stop_signal() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}

fn run_load(plan: &Plan) -> Ended {
    // One thread keeps the generator's own cost small beside the shop it measures.
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(load::run(plan))?;
    let mut out = io::stdout().lock();
    match plan.format {
        load::Format::Text => write!(out, "{report}")?,
        load::Format::Json => {
            serde_json::to_writer_pretty(&mut out, &report)?;
            writeln!(out)?;
        }
    }
    Ok(match report.verdict(plan.errors) {
        Verdict::Good => ExitCode::SUCCESS,
        Verdict::Errors => ExitCode::FAILURE,
    })
}
