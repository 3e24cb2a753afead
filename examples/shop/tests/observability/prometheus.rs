//! A real Prometheus over the fleet, with the rules as they are shipped.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::children::{Process, free_port};
use crate::http;

/// What stands for `$__rate_interval`: a few scrapes.
pub(crate) const INTERVAL: &str = "15s";

pub(crate) struct Prometheus {
    address: String,
    began: SystemTime,
    _process: Process,
}

/// A rule or an alert as Prometheus tells it.
pub(crate) struct Rule {
    pub(crate) name: String,
    pub(crate) health: String,
    pub(crate) error: String,
    pub(crate) evaluated: bool,
}

impl Prometheus {
    /// Starts it in `folder` over these jobs, each with its address; ready when this returns.
    pub(crate) fn start(folder: &Path, rules: &Path, jobs: &[(String, String)]) -> Self {
        let mut config = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: ['{}/*.yml']\nscrape_configs:\n",
            rules.display()
        );
        for (job, address) in jobs {
            let _ = writeln!(config, "  - {{job_name: '{job}', static_configs: [{{targets: ['{address}']}}]}}");
        }
        let file = folder.join("prometheus.yml");
        std::fs::write(&file, config).unwrap();
        let address = format!("127.0.0.1:{}", free_port());
        let args = [
            format!("--config.file={}", file.display()),
            format!("--storage.tsdb.path={}", folder.join("data").display()),
            format!("--web.listen-address={address}"),
            "--log.level=error".to_owned(),
        ];
        let this = Self { address, began: SystemTime::now(), _process: Process::start("prometheus", &args) };
        let until = Instant::now() + Duration::from_secs(30);
        while !http::ask(&this.address, "GET /-/ready", "").is_ok_and(|body| body.contains("is Ready")) {
            assert!(Instant::now() < until, "Prometheus does not get ready: is it installed? See scripts/test");
            std::thread::sleep(Duration::from_millis(100));
        }
        this
    }

    fn data(&self, path: &str, fields: &[(&str, &str)]) -> Value {
        let head = format!("POST /api/v1/{path}");
        let answer =
            http::json(&self.address, &head, &http::form(fields)).unwrap_or_else(|| panic!("{path}: no answer"));
        assert_eq!(answer["status"], "success", "{path} {fields:?}: {answer}");
        answer["data"].clone()
    }

    /// Every value of a query over the whole time, one list for each series. `NaN` is no value.
    pub(crate) fn over_time(&self, expr: &str) -> Vec<Vec<f64>> {
        let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap().as_secs().to_string();
        let (start, end) = (seconds(self.began), seconds(SystemTime::now()));
        let data = self.data("query_range", &[("query", expr), ("start", &start), ("end", &end), ("step", "2")]);
        let series = data["result"].as_array().unwrap().iter().map(|series| {
            let values = series["values"].as_array().unwrap().iter();
            values
                .map(|pair| pair[1].as_str().unwrap().parse::<f64>().unwrap())
                .filter(|value| !value.is_nan())
                .collect()
        });
        series.filter(|values: &Vec<f64>| !values.is_empty()).collect()
    }

    /// The largest value of a query now; `None` where it has none.
    pub(crate) fn now(&self, expr: &str) -> Option<f64> {
        let data = self.data("query", &[("query", expr)]);
        let values = data["result"]
            .as_array()
            .unwrap()
            .iter()
            .map(|series| series["value"][1].as_str().unwrap().parse().unwrap());
        values.reduce(f64::max)
    }

    /// The alerts of a job, for a complaint.
    pub(crate) fn raised(&self, job: &str) -> String {
        let data = self.data("query", &[("query", &format!("last_over_time(ALERTS{{job=\"{job}\"}}[5m])"))]);
        data["result"]
            .as_array()
            .unwrap()
            .iter()
            .map(|series| series["metric"].to_string())
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// How many series a selector with its matchers has.
    pub(crate) fn series(&self, selector: &str) -> usize {
        self.data("series", &[("match[]", selector)]).as_array().unwrap().len()
    }

    /// Every rule that it has loaded.
    pub(crate) fn rules(&self) -> Vec<Rule> {
        let answer = http::json(&self.address, "GET /api/v1/rules", "").unwrap();
        let groups = answer["data"]["groups"].as_array().unwrap().clone();
        let rules = groups.iter().flat_map(|group| group["rules"].as_array().unwrap().clone());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        rules
            .map(|rule| Rule {
                name: text(&rule["name"]),
                health: text(&rule["health"]),
                error: text(&rule["lastError"]),
                evaluated: !text(&rule["lastEvaluation"]).starts_with("0001"),
            })
            .collect()
    }
}
