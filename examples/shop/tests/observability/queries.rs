//! What the dashboards and rules ask, as a user's browser would: with the variables filled in.

use std::path::PathBuf;

use serde_json::Value;

use crate::prometheus::INTERVAL;

/// A file of the repository.
pub(crate) fn path(file: &str) -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    PathBuf::from(here).join("../..").join(file).canonicalize().unwrap()
}

/// One query of a panel.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// File, panel and legend, for complaints.
    pub(crate) by: String,
    /// `PromQL`.
    pub(crate) expr: String,
}

/// With every variable at "All".
pub(crate) fn filled_in(expr: &str) -> String {
    let mut expr = expr.replace("$__rate_interval", INTERVAL);
    for variable in ["$job", "$instance", "$cache", "$gate", "$database_job"] {
        expr = expr.replace(variable, ".*");
    }
    assert!(!expr.contains('$'), "a variable that this test does not know: {expr}");
    expr
}

/// The queries of a dashboard file, those of folded rows too.
fn of_board(file: &str) -> Vec<Asked> {
    let board: Value =
        serde_json::from_str(&std::fs::read_to_string(path(&format!("dashboards/{file}"))).unwrap()).unwrap();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let outer = list(&board["panels"]);
    let panels: Vec<_> = outer.iter().cloned().chain(outer.iter().flat_map(|row| list(&row["panels"]))).collect();
    let mut asked = Vec::new();
    for panel in panels {
        let title = panel["title"].as_str().unwrap().to_owned();
        for target in list(&panel["targets"]) {
            let by = format!("{file} `{title}` {}", target["legendFormat"].as_str().unwrap());
            asked.push(Asked { by, expr: filled_in(target["expr"].as_str().unwrap()) });
        }
    }
    asked
}

/// The queries of all panels.
pub(crate) fn of_panels() -> Vec<Asked> {
    let asked: Vec<_> = ["overview.json", "cache.json"].into_iter().flat_map(of_board).collect();
    assert!(asked.len() > 80, "only {} queries were found", asked.len());
    asked
}

/// The rules of both files.
fn shipped_rules() -> Vec<Value> {
    let texts = ["recording.yml", "alerts.yml"]
        .map(|file| std::fs::read_to_string(path(&format!("dashboards/rules/{file}"))).unwrap());
    let files: Vec<Value> = texts.iter().map(|text| serde_norway::from_str(text).unwrap()).collect();
    let groups = files.iter().flat_map(|file| file["groups"].as_array().unwrap());
    groups.flat_map(|group| group["rules"].as_array().unwrap()).cloned().collect()
}

/// How many rules there are.
pub(crate) fn rules() -> usize {
    shipped_rules().len()
}

/// The selectors of panels and rules with their matchers, each once.
pub(crate) fn selectors() -> Vec<String> {
    let rules = shipped_rules();
    let of_rules = rules.iter().map(|rule| rule["expr"].as_str().unwrap().to_owned());
    let of_panels = of_panels().into_iter().map(|asked| asked.expr);
    let mut found: Vec<_> = of_rules
        .chain(of_panels)
        .flat_map(|expr| dashboards::promql::selectors(&expr).unwrap())
        .map(|selector| selector.to_string())
        .collect();
    found.sort();
    found.dedup();
    found
}
