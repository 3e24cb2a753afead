//! The demonstration without a screen: progress on standard error, the result on standard output.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use herdfeed::Outcome;
use herdlab::demo::{Demo, DemoAccount};
use herdlab::run::{Document, Run};

use super::{DemoArgs, ERROR, Failed};

/// How often a look is taken at whether it is over.
const LOOK_EVERY: Duration = Duration::from_millis(50);

pub(super) fn run(args: &DemoArgs) -> Result<ExitCode, Failed> {
    let config = args.config();
    let mut progress = Progress::new(config.length.unwrap_or_default());
    let demo = Demo::start(config).map_err(Failed::Start)?;
    while !demo.is_over() {
        thread::sleep(LOOK_EVERY);
        progress.tell(&demo)?;
    }
    progress.end()?;
    let run = demo.finish();
    let code = judge(&run)?;
    print(args, run)?;
    Ok(code)
}

/// Says which checks failed, if any, and what that means for the exit code.
fn judge(run: &Run) -> io::Result<ExitCode> {
    let mut stderr = io::stderr().lock();
    for check in run.checks.iter().filter(|check| !check.pass) {
        writeln!(stderr, "check failed: {}: expected {}, measured {}", check.name, check.expected, check.measured)?;
    }
    Ok(if run.pass { ExitCode::SUCCESS } else { ExitCode::from(ERROR) })
}

fn print(args: &DemoArgs, run: Run) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut stdout, &Document::new(vec![run]))?;
        writeln!(stdout)?;
    } else {
        write!(stdout, "{}", summary(&run))?;
    }
    stdout.flush()
}

/// The run in a few lines.
fn summary(run: &Run) -> String {
    let figures = &run.figures;
    let per_expiry = figures.origin_calls_per_expiry.map_or("-".into(), |calls| format!("{calls:.1}"));
    let latency = figures.latency_ms.map_or("-".into(), |latency| {
        format!("p50 {:.1} ms, p99 {:.1} ms, max {:.1} ms", latency.p50, latency.p99, latency.max)
    });
    let outcomes: Vec<_> = figures
        .outcomes
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(outcome, count)| format!("{outcome} {count}"))
        .collect();
    let verdict = if run.pass { "balanced" } else { "NOT BALANCED" };
    format!(
        "policy        {}\nrequests      {} ({})\nlatency       {latency}\nhot key       {} expiries, \
         {per_expiry} origin calls per expiry, at most {} at once\norigin        {} calls, at most {} running\n\
         account       {verdict}\n",
        run.setup.policy,
        figures.requests,
        outcomes.join(", "),
        figures.expiries.unwrap_or_default(),
        figures.key_peak_calls,
        figures.origin_calls,
        figures.origin_peak_running,
    )
}

/// One line a second: over the last one on a terminal, below it elsewhere.
struct Progress {
    length: Duration,
    every: Duration,
    next: Instant,
    last: Option<DemoAccount>,
    place: Place,
}

/// What standard error is.
enum Place {
    Terminal,
    Elsewhere,
}

impl Progress {
    fn new(length: Duration) -> Self {
        let place = if io::stderr().is_terminal() { Place::Terminal } else { Place::Elsewhere };
        // A log file is spared a line a second over hours.
        let every = match place {
            Place::Terminal => Duration::from_secs(1),
            Place::Elsewhere => Duration::from_secs(1).max(length / 60),
        };
        Self { length, every, next: Instant::now() + every, last: None, place }
    }

    fn tell(&mut self, demo: &Demo) -> io::Result<()> {
        if Instant::now() < self.next {
            return Ok(());
        }
        self.next += self.every;
        let now = demo.account();
        let line = line(&now, self.last.as_ref(), self.length);
        let mut stderr = io::stderr().lock();
        match self.place {
            Place::Terminal => write!(stderr, "\r{line}\x1b[K")?,
            Place::Elsewhere => writeln!(stderr, "{line}")?,
        }
        self.last = Some(now);
        stderr.flush()
    }

    fn end(&self) -> io::Result<()> {
        match self.place {
            Place::Terminal => writeln!(io::stderr()),
            Place::Elsewhere => Ok(()),
        }
    }
}

/// What has happened since the last line.
fn line(now: &DemoAccount, last: Option<&DemoAccount>, length: Duration) -> String {
    let before = |figure: fn(&DemoAccount) -> u64| last.map_or(0, figure);
    let requests = now.callers.requests - before(|account| account.callers.requests);
    let loads = now.origin.started - before(|account| account.origin.started);
    let failed = |account: &DemoAccount| {
        let outcomes = &account.callers.outcomes;
        [Outcome::Failed, Outcome::Cooling, Outcome::Rejected, Outcome::TimedOut].map(|outcome| outcomes[outcome])
    };
    let failed_now: u64 = failed(now).iter().sum();
    let failed_before: u64 = last.map_or(0, |account| failed(account).iter().sum());
    let seconds = last.map_or(now.elapsed, |account| now.elapsed.saturating_sub(account.elapsed)).as_secs_f64();
    let place = if now.elapsed < length {
        format!("{:>3.0}/{:.0} s", now.elapsed.as_secs_f64(), length.as_secs_f64())
    } else {
        // Nothing more is sent; the last requests wait for their answers.
        "ending".into()
    };
    format!(
        "{place}  {:>5.0} req/s  {:>4.0} loads/s  origin running {:>3}  hot key: {} expiries, {} loads  failed {}",
        requests as f64 / seconds,
        loads as f64 / seconds,
        now.origin.running,
        now.expiries,
        now.hot.started,
        failed_now - failed_before,
    )
}
