//! The compose file for users: nothing here can start it, so that what can be known without is checked.

use serde_json::Value;

use crate::files;

const FOLDER: &str = "examples/observability";

fn yaml(text: &str) -> Value {
    serde_norway::from_str(text).unwrap()
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().map_or(&[][..], Vec::as_slice).iter().filter_map(Value::as_str).collect()
}

/// Complaints about a compose file; `exists` tells whether a path from its folder is there.
fn compose(file: &Value, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut complaints = Vec::new();
    for (name, service) in file["services"].as_object().into_iter().flatten() {
        let image = service["image"].as_str().unwrap_or("");
        let pinned = image.rsplit_once(':').is_some_and(|(_, tag)| tag.matches('.').count() == 2);
        if !pinned {
            complaints.push(format!("{name}: `{image}` is not pinned to one version"));
        }
        for mount in strings(&service["volumes"]) {
            let parts: Vec<_> = mount.split(':').collect();
            if parts.len() != 3 || parts[2] != "ro" {
                complaints.push(format!("{name}: `{mount}` is not read-only"));
            }
            if !exists(parts[0]) {
                complaints.push(format!("{name}: there is no {}", parts[0]));
            }
        }
        let open = strings(&service["ports"]).into_iter().filter(|port| !port.starts_with("127.0.0.1:"));
        complaints.extend(open.map(|port| format!("{name}: {port} is open to other machines")));
    }
    complaints
}

#[test]
fn the_compose_file_names_what_is_there() {
    let file = yaml(&files::read(&format!("{FOLDER}/compose.yaml")));
    files::report(&compose(&file, |path| files::exists(&format!("{FOLDER}/{path}"))));
}

/// Every dashboard is mounted where the provider looks, and every rule where Prometheus does.
#[test]
fn dashboards_and_rules_are_provisioned() {
    let file = yaml(&files::read(&format!("{FOLDER}/compose.yaml")));
    let mounts = strings(&file["services"]["grafana"]["volumes"]);
    for board in dashboards::boards() {
        let mount = format!("../../dashboards/{0}:/etc/herdcache/{0}:ro", board.file);
        assert!(mounts.contains(&mount.as_str()), "{mount} in {mounts:?}");
    }
    let provider = yaml(&files::read(&format!("{FOLDER}/grafana/dashboards/herdcache.yaml")));
    assert_eq!(provider["providers"][0]["options"]["path"], "/etc/herdcache");
    let rules = strings(&file["services"]["prometheus"]["volumes"]);
    assert!(rules.contains(&"../../dashboards/rules:/etc/prometheus/rules:ro"), "{rules:?}");
    let prometheus = yaml(&files::read(&format!("{FOLDER}/prometheus.yml")));
    assert_eq!(strings(&prometheus["rule_files"]), ["/etc/prometheus/rules/*.yml"]);
    let sources = yaml(&files::read(&format!("{FOLDER}/grafana/datasources/herdcache.yaml")));
    assert_eq!(sources["datasources"][0]["jsonData"]["timeInterval"], prometheus["global"]["scrape_interval"]);
}

#[test]
fn a_careless_compose_file_is_seen() {
    let file = yaml("services: {a: {image: 'x/y:latest', volumes: ['./z:/z'], ports: ['80:80']}}");
    assert_eq!(
        compose(&file, |_| false),
        [
            "a: `x/y:latest` is not pinned to one version",
            "a: `./z:/z` is not read-only",
            "a: there is no ./z",
            "a: 80:80 is open to other machines",
        ]
    );
}
