//! A dashboard as Grafana's JSON (schema 39, Grafana 10.4 and later).
//!
//! Only fields that differ from what Grafana assumes are written, so that a diff of the file is a diff of meaning.
//! Keys are sorted, whatever map `serde_json` is built with in this workspace.

use serde_json::{Map, Value, json};

use crate::board::{Board, Look, Panel, Query, Unit, Variable};
use crate::traces;

/// Height of a row of panels; of figures; of a heading.
const TALL: u32 = 8;
const FIGURE: u32 = 4;
const HEADING: u32 = 1;
/// Columns of Grafana's grid.
const COLUMNS: u32 = 24;

pub(crate) fn render(board: &Board) -> String {
    let board = json!({
        "annotations": { "list": [alerts()] },
        "description": board.about,
        "editable": false,
        "graphTooltip": 1,
        "links": links(board),
        "panels": panels(board),
        "refresh": "30s",
        "schemaVersion": 39,
        "tags": ["herdcache"],
        "templating": { "list": variables(&board.variables) },
        "time": { "from": "now-1h", "to": "now" },
        "timezone": "browser",
        "title": board.title,
        "uid": board.uid,
        "version": 1,
    });
    let mut text = serde_json::to_string_pretty(&sorted(board)).unwrap_or_default();
    text.push('\n');
    text
}

/// The same value with the keys of every object in order.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.into_iter().collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(fields.into_iter().map(|(key, value)| (key, sorted(value))).collect::<Map<_, _>>())
        }
        Value::Array(values) => Value::Array(values.into_iter().map(sorted).collect()),
        other => other,
    }
}

fn source() -> Value {
    json!({ "type": "prometheus", "uid": "${datasource}" })
}

/// Alerts that fire are marked in every panel.
fn alerts() -> Value {
    json!({
        "datasource": source(),
        "enable": true,
        "expr": "ALERTS{alertname=~\"Herdcache.+\",alertstate=\"firing\",job=~\"$job\"}",
        "iconColor": "red",
        "name": "Alerts",
        "step": "30s",
        "tagKeys": "severity,herdcache_name,herdcache_gate_name",
        "titleFormat": "{{alertname}}",
    })
}

/// To the other dashboard, and to the traces of what is chosen.
fn links(board: &Board) -> Vec<Value> {
    let (title, uid) = board.other;
    let other = json!({
        "asDropdown": false,
        "includeVars": true,
        "keepTime": true,
        "title": title,
        "type": "link",
        "url": format!("/d/{uid}"),
    });
    let traces = traces::of_board(board).map(
        |url| json!({ "asDropdown": false, "targetBlank": true, "title": traces::TITLE, "type": "link", "url": url }),
    );
    std::iter::once(other).chain(traces).collect()
}

fn variables(variables: &[Variable]) -> Vec<Value> {
    let datasource = json!({
        "label": "Data source",
        "name": "datasource",
        "query": "prometheus",
        "type": "datasource",
    });
    let chosen = variables.iter().map(|variable| {
        json!({
            "allValue": ".*",
            "current": { "text": ["All"], "value": ["$__all"] },
            "datasource": source(),
            "definition": variable.values,
            "includeAll": true,
            "label": variable.label,
            "multi": true,
            "name": variable.name,
            "query": { "query": variable.values, "refId": "variable" },
            "refresh": 2,
            "sort": 1,
            "type": "query",
        })
    });
    let traces = json!({
        "label": "Traces",
        "name": traces::SOURCE,
        "query": "tempo",
        "type": "datasource",
    });
    // Last, since whoever has no traces has nothing to choose there.
    std::iter::once(datasource).chain(chosen).chain([traces]).collect()
}

/// Headings and panels with their places: left to right, a new line where the next does not fit.
fn panels(board: &Board) -> Vec<Value> {
    let (mut placed, mut y) = (Vec::new(), 0);
    for row in &board.rows {
        let heading_at = y;
        y += HEADING;
        let (mut inside, mut x, mut line) = (Vec::new(), 0, 0);
        for panel in row.panels {
            let (width, height) = (u32::from(panel.width), height(panel.look));
            if x + width > COLUMNS {
                (x, y, line) = (0, y + line, 0);
            }
            inside.push(self::panel(board, panel, &json!({ "h": height, "w": width, "x": x, "y": y })));
            (x, line) = (x + width, line.max(height));
        }
        y += line;
        let grid = json!({ "h": HEADING, "w": COLUMNS, "x": 0, "y": heading_at });
        let folded = if row.folded { std::mem::take(&mut inside) } else { Vec::new() };
        placed.push(json!({
            "collapsed": row.folded, "gridPos": grid, "id": row.id, "panels": folded, "title": row.title, "type": "row",
        }));
        if row.folded {
            // What is folded away takes no room.
            y = heading_at + HEADING;
        }
        placed.extend(inside);
    }
    placed
}

fn height(look: Look) -> u32 {
    match look {
        Look::Lines | Look::NearOne | Look::Stacked | Look::Table => TALL,
        Look::Rising { .. } | Look::Falling { .. } | Look::Figure => FIGURE,
    }
}

fn panel(board: &Board, panel: &Panel, grid: &Value) -> Value {
    let (kind, options) = match panel.look {
        Look::Lines | Look::NearOne | Look::Stacked => ("timeseries", over_time()),
        Look::Rising { .. } | Look::Falling { .. } | Look::Figure => ("stat", figure(panel.look)),
        Look::Table => ("table", json!({ "showHeader": true })),
    };
    let mut fields = json!({
        "datasource": source(),
        "description": panel.about,
        "fieldConfig": { "defaults": linked(board, panel), "overrides": overrides(panel.queries) },
        "gridPos": grid,
        "id": panel.id,
        "options": options,
        "targets": targets(board, panel),
        "title": panel.title,
        "type": kind,
    });
    if panel.look == Look::Table {
        fields["transformations"] =
            json!([{ "id": "organize", "options": { "excludeByName": { "Time": true, "Value": true } } }]);
    }
    fields
}

fn over_time() -> Value {
    json!({
        "legend": { "calcs": ["lastNotNull", "max"], "displayMode": "table", "placement": "bottom", "showLegend": true },
        "tooltip": { "mode": "multi", "sort": "desc" },
    })
}

fn figure(look: Look) -> Value {
    let colour = if look == Look::Figure { "none" } else { "background" };
    json!({
        "colorMode": colour,
        "graphMode": "area",
        "reduceOptions": { "calcs": ["lastNotNull"], "fields": "", "values": false },
    })
}

/// Series that name a cache lead to its details, where these are on another dashboard; those that name what the span of a
/// flight says lead to traces.
fn linked(board: &Board, panel: &Panel) -> Value {
    let mut defaults = defaults(panel);
    let mut links = Vec::new();
    let (title, uid) = board.other;
    let names_cache = panel.queries.iter().any(|query| query.legend.contains("{{job}} {{herdcache_name}}"));
    if names_cache {
        let labels = "var-job=${__field.labels.job}&var-cache=${__field.labels.herdcache_name}";
        let url = format!("/d/{uid}?var-datasource=${{datasource}}&{labels}&${{__url_time_range}}");
        links.push(json!({ "title": title, "url": url }));
    }
    if let Some(url) = traces::link(board, panel) {
        links.push(json!({ "targetBlank": true, "title": traces::TITLE, "url": url }));
    }
    if !links.is_empty() {
        defaults["links"] = json!(links);
    }
    defaults
}

fn defaults(panel: &Panel) -> Value {
    let mut defaults = json!({ "unit": unit(panel.unit) });
    let step = |colour: &str, value: Option<f64>| json!({ "color": colour, "value": value });
    let steps = match panel.look {
        Look::Rising { warn, bad } => vec![step("green", None), step("orange", Some(warn)), step("red", Some(bad))],
        Look::Falling { bad, warn } => vec![step("red", None), step("orange", Some(bad)), step("green", Some(warn))],
        Look::Lines | Look::Stacked => {
            defaults["custom"] = drawn(panel.look);
            defaults["min"] = json!(0);
            return defaults;
        }
        Look::NearOne => {
            defaults["custom"] = drawn(panel.look);
            defaults["decimals"] = json!(2);
            defaults["max"] = json!(1);
            return defaults;
        }
        Look::Figure | Look::Table => return defaults,
    };
    defaults["thresholds"] = json!({ "mode": "absolute", "steps": steps });
    // Without it Grafana rounds 99.96 % to 100 %, which is the difference that matters.
    if panel.unit == Unit::Part {
        defaults["decimals"] = json!(2);
    }
    defaults
}

fn drawn(look: Look) -> Value {
    if look == Look::Stacked {
        return json!({ "fillOpacity": 40, "lineWidth": 1, "showPoints": "never", "stacking": { "group": "A", "mode": "normal" } });
    }
    json!({ "fillOpacity": 0, "lineWidth": 2, "showPoints": "never" })
}

/// Series of another unit than the panel's get the right axis.
fn overrides(queries: &[Query]) -> Vec<Value> {
    let apart = queries.iter().enumerate().filter_map(|(at, query)| Some((letter(at), query.unit?)));
    apart
        .map(|(letter, other)| {
            json!({
                "matcher": { "id": "byFrameRefID", "options": letter },
                "properties": [
                    { "id": "unit", "value": unit(other) },
                    { "id": "custom.axisPlacement", "value": "right" },
                    { "id": "custom.lineStyle", "value": { "dash": [10, 10], "fill": "dash" } },
                ],
            })
        })
        .collect()
}

/// `A` for the first query, and so on.
fn letter(at: usize) -> String {
    char::from(b'A' + u8::try_from(at % 26).unwrap_or(0)).to_string()
}

fn targets(board: &Board, panel: &Panel) -> Vec<Value> {
    let table = panel.look == Look::Table;
    let target = |(at, query): (usize, &Query)| {
        let mut target = json!({
            "datasource": source(),
            "editorMode": "code",
            "expr": board.expr(query),
            "legendFormat": query.legend,
            "refId": letter(at),
        });
        if table {
            target["format"] = json!("table");
            target["instant"] = json!(true);
        } else {
            target["range"] = json!(true);
        }
        target
    };
    panel.queries.iter().enumerate().map(target).collect()
}

/// What Grafana calls the unit.
fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::RequestsPerSecond => "reqps",
        Unit::PerSecond => "cps",
        Unit::Seconds => "s",
        Unit::Part => "percentunit",
        Unit::Times => "suffix:×",
        Unit::Count => "short",
        Unit::Bytes => "bytes",
        Unit::BytesPerSecond => "Bps",
    }
}
