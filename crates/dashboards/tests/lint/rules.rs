//! The rules, their tests and their runbooks: each alert has one of each, and none is without its alert.

use std::collections::BTreeSet;

use dashboards::board::{outcomes, success};
use dashboards::promql;
use serde::Deserialize;

use crate::{boards, files};

const RUNBOOKS: &str = "https://github.com/herdcache/herdcache/blob/main/docs/runbooks/";
const CHAPTERS: &[&str] = &["## What it means", "## What to look at", "## What to do"];

/// A file of rules.
#[derive(Debug, Deserialize)]
struct Rules {
    groups: Vec<Group>,
}

#[derive(Debug, Deserialize)]
struct Group {
    rules: Vec<Rule>,
}

/// A recording rule or an alert.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Rule {
    pub(crate) record: String,
    pub(crate) alert: String,
    pub(crate) expr: String,
    #[serde(rename = "for")]
    lasts: String,
    labels: Labels,
    annotations: Annotations,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Labels {
    severity: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Annotations {
    summary: String,
    description: String,
    runbook_url: String,
}

fn parse(text: &str) -> Vec<Rule> {
    let rules: Rules = serde_norway::from_str(text).unwrap();
    rules.groups.into_iter().flat_map(|group| group.rules).collect()
}

/// Every rule that is shipped.
pub(crate) fn shipped() -> Vec<Rule> {
    let names = files::list("dashboards/rules", ".yml");
    names.iter().flat_map(|name| parse(&files::read(&format!("dashboards/rules/{name}")))).collect()
}

/// The runbook that an alert names, without folder and ending.
fn runbook(rule: &Rule) -> Option<&str> {
    rule.annotations.runbook_url.strip_prefix(RUNBOOKS)?.strip_suffix(".md")
}

/// Complaints about one alert; `cases` are the unit tests and `page` its runbook, if there is one.
fn alert(rule: &Rule, cases: &str, page: Option<&str>) -> Vec<String> {
    let name = &rule.alert;
    let mut complaints = Vec::new();
    let mut say = |wrong: bool, what: &str| {
        if wrong {
            complaints.push(format!("{name}: {what}"));
        }
    };
    say(!name.starts_with("Herdcache"), "its name does not begin with Herdcache, which dashboards look for");
    say(!["critical", "warning", "info"].contains(&rule.labels.severity.as_str()), "its severity is none");
    say(rule.annotations.summary.is_empty(), "no summary");
    say(!rule.annotations.description.ends_with('.'), "no description, or one that is no sentence");
    say(runbook(rule).is_none(), "its runbook_url does not lead to docs/runbooks");
    // A look at one moment is noise, but for what can never be right.
    say(rule.lasts.is_empty() && name != "HerdcacheLawViolated", "it fires at first sight: give it a `for`");
    let tested = |what: &str| {
        cases.split("alertname: ").skip(1).any(|case| case.starts_with(&format!("{name}\n")) && case.contains(what))
    };
    say(!tested("exp_labels:"), "no unit test in which it fires");
    say(!tested("exp_alerts: []"), "no unit test in which it does not fire");
    match page {
        None => say(true, "no runbook"),
        Some(page) => {
            say(!page.starts_with(&format!("# {name}\n")), "its runbook has another title");
            for chapter in CHAPTERS {
                say(!page.contains(&format!("\n{chapter}\n")), &format!("its runbook has no chapter `{chapter}`"));
            }
        }
    }
    complaints
}

/// Complaints about panels that a runbook sends its reader to and that are not there. Panels are in italics, and may be
/// cut short.
fn panels(page: &str, titles: &[String]) -> Vec<String> {
    let plain = page.replace("**", "").replace('\n', " ").split_whitespace().collect::<Vec<_>>().join(" ");
    let named = plain.split('*').skip(1).step_by(2).filter(|name| !name.starts_with("herdcache: "));
    let missing = named.filter(|name| !titles.iter().any(|title| title.starts_with(*name)));
    missing.map(|name| format!("there is no panel `{name}`")).collect()
}

/// Complaints about an expression that counts requests as good or bad otherwise than herdcache does.
fn judged(expr: &str) -> Vec<String> {
    let failure = outcomes(|outcome| success(outcome) == Some(false));
    let neutral = outcomes(|outcome| success(outcome).is_none()).replace("=~", "!~");
    let mut complaints = Vec::new();
    for selector in promql::selectors(expr).unwrap_or_default() {
        for matcher in selector.matchers.iter().filter(|m| m.label == "herdcache_request_outcome" && m.op != "=") {
            let written = format!("{}{}{:?}", matcher.label, matcher.op, matcher.value);
            if written != failure && written != neutral {
                complaints.push(format!("`{written}` is neither `{failure}` nor `{neutral}`"));
            }
        }
    }
    complaints
}

#[test]
fn every_alert_has_its_test_and_its_runbook() {
    let cases: String = files::list("dashboards/rules/tests", ".yml")
        .iter()
        .map(|name| files::read(&format!("dashboards/rules/tests/{name}")))
        .collect();
    let alerts: Vec<_> = shipped().into_iter().filter(|rule| !rule.alert.is_empty()).collect();
    assert!(alerts.len() > 10, "only {} alerts were found", alerts.len());
    let mut complaints = Vec::new();
    let pages: BTreeSet<_> =
        files::list("docs/runbooks", ".md").into_iter().filter(|page| page != "README.md").collect();
    for rule in &alerts {
        let page = runbook(rule).map(|slug| format!("{slug}.md")).filter(|page| pages.contains(page));
        let page = page.map(|page| files::read(&format!("docs/runbooks/{page}")));
        complaints.extend(alert(rule, &cases, page.as_deref()));
    }
    let named: BTreeSet<_> = alerts.iter().filter_map(runbook).map(|slug| format!("{slug}.md")).collect();
    complaints.extend(pages.difference(&named).map(|page| format!("docs/runbooks/{page} belongs to no alert")));
    let overview = files::read("docs/runbooks/README.md");
    complaints.extend(alerts.iter().filter_map(|rule| {
        let line = format!("| [{}]({}.md) | {} |", rule.alert, runbook(rule)?, rule.labels.severity);
        (!overview.contains(&line)).then(|| format!("docs/runbooks/README.md has no line `{line}`"))
    }));
    files::report(&complaints);
}

#[test]
fn runbooks_name_panels_that_are_there() {
    let boards = files::list("dashboards", ".json").iter().map(|file| boards::shipped(file)).collect::<Vec<_>>();
    let titles: Vec<_> = boards.iter().flat_map(boards::titles).collect();
    let mut complaints = Vec::new();
    for page in files::list("docs/runbooks", ".md") {
        let found = panels(&files::read(&format!("docs/runbooks/{page}")), &titles);
        complaints.extend(found.into_iter().map(|what| format!("{page}: {what}")));
    }
    files::report(&complaints);
    let titles = ["Origin latency, p99".to_owned()];
    assert_eq!(panels("See *Origin\nlatency* and **not** *Misses*.", &titles), ["there is no panel `Misses`"]);
}

#[test]
fn what_is_recorded_is_used() {
    let rules = shipped();
    let used: BTreeSet<_> =
        rules.iter().flat_map(|rule| promql::selectors(&rule.expr).unwrap()).map(|s| s.metric).collect();
    let unused = rules.iter().filter(|rule| !rule.record.is_empty() && !used.contains(&rule.record));
    files::report(&unused.map(|rule| format!("nobody asks for {}", rule.record)).collect::<Vec<_>>());
}

#[test]
fn requests_are_judged_as_herdcache_judges_them() {
    files::report(&shipped().iter().flat_map(|rule| judged(&rule.expr)).collect::<Vec<_>>());
    assert_eq!(judged("a{herdcache_request_outcome=~\"failed|rejected\"}").len(), 1);
    assert_eq!(judged("a{herdcache_request_outcome=\"rejected\"}").len(), 0, "one outcome is no judgement");
}

#[test]
fn an_alert_that_lacks_something_is_seen() {
    let rule = parse(
        "groups: [{rules: [{alert: HerdcacheA, expr: a > 1, for: 1m, labels: {severity: info}, annotations: {summary: s, \
         description: d., runbook_url: 'https://github.com/herdcache/herdcache/blob/main/docs/runbooks/a.md'}}]}]",
    )
    .remove(0);
    let cases = "alertname: HerdcacheA\n exp_labels:\nalertname: HerdcacheA\n exp_alerts: []\n";
    let page = "# HerdcacheA\n\n## What it means\n\n## What to look at\n\n## What to do\n";
    assert_eq!(alert(&rule, cases, Some(page)), Vec::<String>::new());
    let mut bad = rule.clone();
    bad.annotations = Annotations::default();
    bad.labels.severity = "loud".to_owned();
    bad.lasts = String::new();
    assert_eq!(alert(&bad, "alertname: HerdcacheAB\n exp_labels: exp_alerts: []", Some("# Other\n")).len(), 11);
    assert_eq!(alert(&rule, cases, None), ["HerdcacheA: no runbook"]);
    bad.alert = "Cache".to_owned();
    assert!(alert(&bad, cases, None)[0].contains("does not begin"));
}
