//! `herdtop demo --headless` as a user runs it: what it prints, and how it ends.
#![cfg(feature = "demo")]
#![expect(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::process::{Command, Output};

use serde_json::Value;

fn demo(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_herdtop")).arg("demo").args(words).output().unwrap()
}

/// Runs three seconds and gives the only run of its document.
fn run(words: &[&str]) -> Value {
    let output = demo(&[&["--headless", "--for", "3s", "--json"], words].concat());
    let progress = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{progress}");
    assert!(progress.contains("req/s"), "{progress}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["runs"].as_array().unwrap().len(), 1);
    document["runs"][0].clone()
}

fn outcomes(run: &Value) -> u64 {
    run["outcomes"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum()
}

/// L1: with protection an expiry of the hot key costs one call, and the account balances.
#[test]
fn l1_protected_one_call_per_expiry() {
    let run = run(&["--seed", "7"]);
    assert_eq!(run["policy"], "all");
    assert_eq!(run["seed"], 7);
    assert_eq!(run["pass"], true);
    assert!(run["expiries"].as_u64().unwrap() >= 1);
    assert_eq!(run["origin_calls_per_expiry"], 1.0);
    assert_eq!(outcomes(&run), run["requests"].as_u64().unwrap());
}

/// L1: without it an expiry costs hundreds, and the account balances all the same.
#[test]
fn l1_unprotected_hundreds_of_calls_per_expiry() {
    let run = run(&["--off", "singleflight,stale,early,permits"]);
    assert_eq!(run["policy"], "jitter");
    assert_eq!(run["pass"], true);
    assert!(run["origin_calls_per_expiry"].as_f64().unwrap() > 100.0);
    assert_eq!(outcomes(&run), run["requests"].as_u64().unwrap());
}

#[test]
fn a_summary_is_for_people() {
    let output = demo(&["--headless", "--for", "200ms"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(text.starts_with("policy        all\n") && text.contains("account       balanced"), "{text}");
}

#[test]
fn bad_values_are_refused_with_what_to_write() {
    for (words, expected) in [
        (&["--headless", "--for", "10"][..], "write 10s or 10ms"),
        (&["--headless", "--for", "soon"], "as 500ms, 10s or 2m"),
        (&["--off", "luck"], "choose from jitter, singleflight, stale, early, permits"),
        (&["--json"], "--headless"),
        (&["--headless", "--seed", "many"], "--seed"),
    ] {
        let output = demo(words);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {text}");
        assert!(text.contains(expected), "{words:?}: {text}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn without_a_terminal_it_says_how_to_run_without_a_screen() {
    let output = demo(&[]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("--headless"), "{text}");
}
