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
use herdfeed::{Fact, Measure, Outcome, RejectReason, Severity, Snapshot};
use serde_json::Value;

fn herdtop(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_herdtop"));
    command.args(words).env_remove("HERDTOP_FILTER").env("HERDCACHE_SOCKET", "/nonexistent/");
    command.env("XDG_RUNTIME_DIR", "/nonexistent").env("TMPDIR", "/nonexistent");
    command.output().unwrap()
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
