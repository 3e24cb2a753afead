//! `promtool` over rules and their tests, and the proof that the tests would notice a wrong threshold.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::queries;

/// Runs `promtool` and gives whether it was content, and what it said.
fn promtool(args: &[&str], files: &Path, pattern: &str) -> (bool, String) {
    let mut names: Vec<_> = std::fs::read_dir(files).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|end| end == pattern));
    assert!(!names.is_empty(), "no files in {}", files.display());
    let output = Command::new("promtool").args(args).args(names).output();
    let output = output.unwrap_or_else(|error| panic!("promtool: {error}: see scripts/test for what to install"));
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

#[test]
fn promtool_is_content_with_the_rules() {
    let (good, said) = promtool(&["check", "rules"], &queries::path("dashboards/rules"), "yml");
    assert!(good, "{said}");
}

/// The configuration that users get.
#[test]
fn promtool_is_content_with_the_example() {
    let file = queries::path("examples/observability/prometheus.yml");
    let output = Command::new("promtool").args(["check", "config", "--syntax-only"]).arg(file).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn the_unit_tests_of_the_rules_pass() {
    let (good, said) = promtool(&["test", "rules"], &queries::path("dashboards/rules/tests"), "yml");
    assert!(good, "{said}");
}

/// A number that an alert compares with: where it stands in the file.
struct Threshold {
    alert: String,
    from: usize,
    until: usize,
}

/// Every threshold of the alerts, in the order of the file.
fn thresholds(text: &str) -> Vec<Threshold> {
    let (mut found, mut alert, mut at) = (Vec::new(), String::new(), 0);
    for line in text.split_inclusive('\n') {
        if let Some((_, name)) = line.split_once("- alert: ") {
            name.trim().clone_into(&mut alert);
        }
        let plain = line.trim_start();
        let is_expr = !plain.starts_with('#')
            && !plain.contains("\": ")
            && !plain.starts_with("summary:")
            && !plain.starts_with("description:");
        if is_expr {
            for mark in [" > ", " >= ", " == "] {
                for (place, _) in line.match_indices(mark) {
                    let from = at + place + mark.len();
                    let digits = text[from..].find(|c: char| !c.is_ascii_digit() && c != '.').unwrap();
                    found.push(Threshold { alert: alert.clone(), from, until: from + digits });
                }
            }
        }
        at += line.len();
    }
    found
}

/// The rules with one threshold of every alert changed: the `nth`, if it has so many. And which alerts those are.
fn changed(text: &str, nth: usize, change: impl Fn(f64) -> f64) -> (String, Vec<String>) {
    let (mut text, mut alerts) = (text.to_owned(), Vec::new());
    let found = thresholds(&text);
    // From the end, so that places stay where they are.
    for threshold in found.iter().rev() {
        let earlier =
            found.iter().filter(|other| other.alert == threshold.alert && other.from < threshold.from).count();
        if earlier == nth {
            let value: f64 = text[threshold.from..threshold.until].parse().unwrap();
            text.replace_range(threshold.from..threshold.until, &change(value).to_string());
            alerts.push(threshold.alert.clone());
        }
    }
    (text, alerts)
}

/// The rules without those that the tests in `cases` have nothing to do with: `promtool` evaluates all that it is given.
fn needed(rules: &str, recording: &str, cases: &str) -> (String, String) {
    let keep = |text: &str, wanted: &dyn Fn(&Value) -> bool| {
        let mut file: Value = serde_norway::from_str(text).unwrap();
        for group in file["groups"].as_array_mut().unwrap() {
            group["rules"].as_array_mut().unwrap().retain(|rule| wanted(rule));
        }
        file
    };
    let tested = |rule: &Value| cases.contains(&format!("alertname: {}\n", rule["alert"].as_str().unwrap()));
    let alerts = keep(rules, &tested).to_string();
    let asked = |rule: &Value| alerts.contains(rule["record"].as_str().unwrap());
    let recording = keep(recording, &asked).to_string();
    (alerts, recording)
}

/// Runs one file of tests over a copy of the rules that holds what it needs.
fn test_in_a_copy(alerts: &str, recording: &str, file: &str, cases: &str) -> (bool, String) {
    let copy = TempDir::new().unwrap();
    let write = |name: &str, text: &str| std::fs::write(copy.path().join(name), text).unwrap();
    let (alerts, recording) = needed(alerts, recording, cases);
    std::fs::create_dir(copy.path().join("tests")).unwrap();
    write("alerts.yml", &alerts);
    write("recording.yml", &recording);
    write(&format!("tests/{file}"), cases);
    promtool(&["test", "rules"], &copy.path().join("tests"), "yml")
}

/// What is made of a threshold.
type Change = fn(f64) -> f64;

/// Each threshold of each alert, doubled and halved, fails a test of that alert.
#[test]
fn a_changed_threshold_fails_its_unit_test() {
    let folder = queries::path("dashboards/rules");
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    let (alerts, recording) = (read("alerts.yml"), read("recording.yml"));
    let found = thresholds(&alerts);
    let most = (0..10).find(|nth| changed(&alerts, *nth, |value| value).1.is_empty()).unwrap();
    assert!(found.len() > 25 && most == 3, "{} thresholds, {most} in one alert", found.len());
    let changes: [(&str, Change); 3] = [
        ("unchanged", |value| value),
        ("doubled", |value| if value == 0.0 { 1.0 } else { value * 2.0 }),
        ("halved", |value| if value == 0.0 { 1.0 } else { value / 2.0 }),
    ];
    let (mut wrong, mut noticed) = (Vec::new(), 0);
    for file in ["users.yml", "slow.yml", "herds.yml", "freshness.yml", "shared.yml"] {
        let cases = read(&format!("tests/{file}"));
        for (how, change) in changes {
            for nth in 0..if how == "unchanged" { 1 } else { most } {
                let (text, mut alerts) = changed(&alerts, nth, change);
                alerts.retain(|alert| cases.contains(&format!("alertname: {alert}\n")));
                if alerts.is_empty() {
                    continue;
                }
                let (good, said) = test_in_a_copy(&text, &recording, file, &cases);
                if how == "unchanged" {
                    assert!(good, "{file} fails without any change: {said}");
                    continue;
                }
                for alert in alerts {
                    if !good && said.contains(alert.as_str()) {
                        noticed += 1;
                    } else {
                        wrong.push(format!("threshold {nth} of {alert}, {how}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "no test notices: {wrong:#?}");
    assert_eq!(noticed, 2 * found.len(), "each threshold was changed twice");
}
