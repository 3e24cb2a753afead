//! `herdtop --once`: what is printed, and how it ends.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

#[path = "support/fake.rs"]
mod fake;
#[path = "support/script.rs"]
mod script;

use std::process::{Command, Output};
use std::sync::Arc;

use fake::Fake;
use herdfeed::server::Publisher;
use herdfeed::{
    Fact, FlightTrigger, Measure, MissCause, OriginResult, Outcome, RejectReason, Severity, Snapshot, StaleReason,
};
use serde_json::Value;

fn herdtop(words: &[&str]) -> Output {
    command(words).output().unwrap()
}

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_herdtop"));
    command.args(words).env_remove("HERDTOP_FILTER").env("HERDCACHE_SOCKET", "/nonexistent/");
    command.env("XDG_RUNTIME_DIR", "/nonexistent").env("TMPDIR", "/nonexistent");
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

struct Process {
    _publisher: Publisher,
    _directory: tempfile::TempDir,
    address: String,
}

fn process(figures: fn(u64) -> Snapshot) -> Process {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("shop-4711.sock");
    let fake: Arc<Fake> = Fake::new(script::hello("shop", 4711, "boot-1"), Box::new(figures));
    Process { _publisher: fake.publish(&socket), _directory: directory, address: socket.display().to_string() }
}

fn calm(_mono_us: u64) -> Snapshot {
    let mut snapshot = Snapshot { caches: vec![script::cache()], gates: vec![script::gate()], ..Snapshot::default() };
    snapshot.caches[0].outcomes[Outcome::Hit] = 990;
    snapshot.caches[0].outcomes[Outcome::Rejected] = 10;
    snapshot.caches[0].origin_calls = 100;
    snapshot
}

fn rejecting(mono_us: u64) -> Snapshot {
    let mut snapshot = calm(mono_us);
    // 1,000 a second: the condition holds by the counters too.
    snapshot.caches[0].outcomes[Outcome::Rejected] += mono_us / 1_000;
    snapshot.caches[0].rejections[RejectReason::QueueFull] += mono_us / 1_000;
    let fact = Fact::Rejecting { per_s: 118, reason: RejectReason::QueueFull };
    snapshot.caches[0].conditions = vec![script::condition(Severity::Critical, "users", fact)];
    snapshot
}

/// The condition is still active, but nobody was refused since.
fn rejected(mono_us: u64) -> Snapshot {
    let mut snapshot = rejecting(mono_us);
    snapshot.caches[0].outcomes[Outcome::Rejected] = 500;
    snapshot.caches[0].rejections[RejectReason::QueueFull] = 500;
    snapshot
}

/// The origin is down and protection hides it: cooling keeps loads away, and all callers get stale values.
fn shielded(mono_us: u64) -> Snapshot {
    let mut snapshot = calm(mono_us);
    let cache = &mut snapshot.caches[0];
    cache.outcomes[Outcome::Stale] += mono_us / 1_000;
    cache.stale_serves[StaleReason::Cooling] += mono_us / 1_000;
    cache.origin_results[OriginResult::Error] = 40;
    snapshot
}

/// A load each few seconds that takes 25 ms, and one has just begun.
fn seldom(mono_us: u64) -> Snapshot {
    let mut snapshot = calm(mono_us);
    let cache = &mut snapshot.caches[0];
    (0..100).for_each(|_| cache.origin_call.record_us(25_000));
    (cache.origin_active, cache.flights_active, cache.flight_oldest_us) = (1, 1, 20_000);
    cache.live = vec![script::flight(1, "k", mono_us.saturating_sub(20_000), 20_000, 0)];
    snapshot
}

/// A call that waits for seconds already, and none is answered.
fn hanging(mono_us: u64) -> Snapshot {
    let mut snapshot = seldom(mono_us);
    snapshot.caches[0].flight_oldest_us = 5_200_000;
    snapshot.caches[0].live[0].age_us = 5_200_000;
    snapshot
}

/// One load, 812 waiters: worth knowing, and no trouble.
fn herd(mono_us: u64) -> Snapshot {
    let mut snapshot = calm(mono_us);
    let fact = Fact::HerdStarted {
        flight: 7,
        key: "user:42".into(),
        cause: Some(MissCause::Expired),
        trigger: FlightTrigger::Miss,
        waiters: 812,
        loads: 1,
    };
    snapshot.caches[0].conditions = vec![script::condition(Severity::Info, "users", fact)];
    snapshot
}

fn unprotected(mono_us: u64) -> Snapshot {
    let mut snapshot = calm(mono_us);
    snapshot.caches[0].off = vec![Measure::SingleFlight];
    snapshot
}

#[test]
fn json_is_one_document_with_every_target_and_the_verdict() {
    let process = process(rejecting);
    let output = herdtop(&["--once", "--json", &process.address]);
    assert_eq!(output.status.code(), Some(0));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["version"], 1);
    let target = &document["targets"][0];
    assert_eq!(target["address"], format!("unix:{}", process.address));
    assert_eq!(target["hello"]["process"]["service"], "shop");
    assert_eq!(target["snapshot"]["caches"][0]["outcomes"]["hit"], 990);
    let finding = &document["verdict"][0];
    assert_eq!([&finding["kind"], &finding["severity"]], ["rejecting", "critical"]);
    let what = finding["what"].as_str().unwrap();
    // Told of now, not of when the condition was last true; the distance of the two looks is a real one.
    assert!(what.ends_with("/s queue_full") && what != "118/s queue_full", "{what}");
    assert_eq!(finding["standing"], "holds");
    assert_eq!(finding["since_unix_us"], script::START.unix_us);
    assert_eq!(finding["targets"][0], "shop-4711");
}

#[test]
fn text_is_a_short_report() {
    let process = process(calm);
    let output = herdtop(&["--once", &process.address]);
    assert_eq!(output.status.code(), Some(0));
    let report = text(&output.stdout);
    assert_eq!(report.lines().next(), Some("calm"));
    for part in [
        "shop pid 4711 herdcache 0.1.0",
        "cache users process, 8.4k of 10.0k entries",
        "1.0k requests: hit 990,",
        "success 99.0%, exposure 10x",
        "gate db 0 of 32 permits, 0 of 64 waiting",
    ] {
        assert!(report.contains(part), "{part} in {report}");
    }
}

#[test]
fn fail_on_ends_with_4_from_its_severity_up() {
    let (calm, warn, critical) = (process(calm), process(unprotected), process(rejecting));
    let over = process(rejected);
    for (process, limit, code) in [
        (&calm, "warn", 0),
        (&over, "warn", 0),
        (&warn, "warn", 4),
        (&warn, "critical", 0),
        (&critical, "warn", 4),
        (&critical, "critical", 4),
    ] {
        let output = herdtop(&["--once", "--text", "--fail-on", limit, &process.address]);
        assert_eq!(output.status.code(), Some(code), "{limit}: {}", text(&output.stdout));
    }
}

#[test]
fn a_target_that_does_not_answer_is_told_and_others_still_count() {
    let process = process(calm);
    let output = herdtop(&["--once", "--json", &process.address, "/nonexistent/a.sock"]);
    assert_eq!(output.status.code(), Some(0));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(document["targets"][0]["error"].as_str().unwrap().contains("/nonexistent/a.sock"), "{document}");
    assert_eq!(document["verdict"][0]["kind"], "unreachable");
    let output = herdtop(&["--once", "/nonexistent/a.sock"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("no target answered"));
    // The address once, and no key of a screen that is not there.
    assert_eq!(
        text(&output.stdout),
        "WARN UNREACHABLE unix:/nonexistent/a.sock there is no such socket or host: check the address, and that the \
         service has its feed on\n"
    );
}

#[test]
fn usage_and_missing_targets_have_their_own_codes() {
    let nothing = herdtop(&["--once"]);
    assert_eq!(nothing.status.code(), Some(3));
    assert!(text(&nothing.stderr).contains("serve_feed"), "{}", text(&nothing.stderr));
    for words in [
        &["--json"][..],
        &["--once", "--fail-on", "moon"],
        &["https://a:1"],
        &["--filter", "w>many", "/nonexistent/a.sock"],
    ] {
        assert_eq!(herdtop(words).status.code(), Some(2), "{words:?}");
    }
    let dead = herdtop(&["--once", "4294967295"]);
    assert_eq!(dead.status.code(), Some(3));
    assert!(text(&dead.stderr).contains("process 4294967295 is not running (any more)"), "{}", text(&dead.stderr));
}

/// Two looks a second apart see what is wrong with the origin, and nothing that is not.
#[test]
fn a_look_tells_a_sick_origin_from_a_quiet_one() {
    let (shielded, seldom, hanging) = (process(shielded), process(seldom), process(hanging));
    for (process, code, first) in [
        (&shielded, 4, "WARN ORIGIN FAILING users no load has succeeded for 1s, "),
        (&seldom, 0, "calm"),
        (&hanging, 4, "WARN ORIGIN SILENT users no answer within 1.00s to 1 call, the only call waits for 5.20s"),
    ] {
        let output = herdtop(&["--once", "--fail-on", "warn", &process.address]);
        let report = text(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{report}");
        assert!(report.lines().next().is_some_and(|line| line.starts_with(first)), "{report}");
    }
}

#[test]
fn what_only_informs_is_calm_with_a_hint() {
    let process = process(herd);
    let output = herdtop(&["--once", "--fail-on", "warn", &process.address]);
    let report = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0));
    let expected =
        "calm\nINFO HERD users user:42 1 load, 812 waiters\n  why: expired, protected\n  hint: set stale_for";
    assert!(report.starts_with(expected), "{report}");
}

/// A check must not pass because a filter of the screen hid what fails.
#[test]
fn a_look_refuses_a_filter() {
    let process = process(unprotected);
    let by_flag = herdtop(&["--once", "--filter", "cache:other", &process.address]);
    let mut by_variable = command(&["--once", &process.address]);
    let by_variable = by_variable.env("HERDTOP_FILTER", "cache:other").output().unwrap();
    for output in [by_flag, by_variable] {
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty());
        assert!(text(&output.stderr).contains("leave the filter out"), "{}", text(&output.stderr));
    }
}

#[cfg(feature = "demo")]
#[test]
fn a_slip_is_told_as_one() {
    for (words, told) in [
        (&["demoo"][..], "herdtop: demoo: no such command or target; did you mean `herdtop demo`?"),
        (
            &["--once", "demo"],
            "herdtop: options and targets of the dashboard do not go with commands: `herdtop demo --help`",
        ),
        (&["--once", "domo"], "herdtop: domo: no such command or target; did you mean `herdtop demo`?"),
    ] {
        let output = herdtop(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(text(&output.stderr).starts_with(told), "{}", text(&output.stderr));
    }
}

/// A feed with room for no more readers.
#[test]
fn a_feed_whose_seats_are_taken_is_told_as_such() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("full-1.sock");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let closing = std::thread::spawn(move || {
        // Hangs up on every reader before it has asked.
        while let Ok((stream, _)) = listener.accept() {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    });
    let output = herdtop(&["--once", &socket.display().to_string()]);
    let report = text(&output.stdout);
    assert!(report.contains("too many connections, or the feed closed before it answered"), "{report}");
    assert!(!closing.is_finished());
}

fn extreme(_mono_us: u64) -> Snapshot {
    let mut snapshot = Snapshot::default();
    script::most_of(&mut snapshot, u64::MAX);
    snapshot
}

#[test]
fn figures_at_the_end_of_their_types_are_printed() {
    let process = process(extreme);
    for format in ["--json", "--text"] {
        let output = herdtop(&["--once", format, &process.address]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains("users"));
    }
}

/// A stream that begins well and goes on with what is no line of a feed.
#[test]
fn a_stream_that_cannot_be_read_is_no_silent_process() {
    use std::io::{Read, Write};
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("odd-1.sock");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // An answer before the question is none.
        assert!(stream.read(&mut [0; 4_096]).unwrap() > 0);
        let hello = herdfeed::Line::Hello(Box::new(script::hello("odd", 1, "boot-1")));
        let hello = serde_json::to_string(&hello).unwrap();
        write!(stream, "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{hello}\n").unwrap();
        while stream.write_all(b"{\"t\":\"snap\",\"part\":\"all\"}\n").is_ok() {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    });
    let output = herdtop(&["picture", "--after", "4", "--text", "--width", "160", &socket.display().to_string()]);
    let picture = text(&output.stdout);
    assert!(picture.contains("SILENT odd-1") && picture.contains("lines came that cannot be read"), "{picture}");
}

#[test]
fn a_screen_without_a_terminal_names_the_way_out() {
    let output = herdtop(&["/nonexistent/a.sock"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("herdtop --once"), "{}", text(&output.stderr));
}

#[test]
fn a_picture_is_drawn_from_a_running_process() {
    let process = process(rejecting);
    let output = herdtop(&["picture", "--after", "1", "--text", &process.address]);
    assert_eq!(output.status.code(), Some(0));
    let picture = text(&output.stdout);
    assert!(picture.contains("1/1 up") && picture.contains("REJECTING users"), "{picture}");
    let output = herdtop(&["picture", "--after", "1", &process.address]);
    assert!(text(&output.stdout).starts_with("<svg "));
}

#[test]
fn help_names_every_way_to_ask_and_every_exit_code() {
    let help = text(&herdtop(&["--help"]).stdout);
    for part in ["--once", "--json", "--text", "--fail-on", "--wait", "--filter", "--color", "--ascii", "--token-file"]
    {
        assert!(help.contains(part), "{part} in {help}");
    }
    assert!(help.contains("0 ok, 1 error, 2 usage, 3 no target, 4 --fail-on hit, 128+n ended by a signal"), "{help}");
    assert!(!help.contains("picture"), "{help}");
}
