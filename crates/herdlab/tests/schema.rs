//! The schema of the JSON says what there is, all of it and nothing else.
//!
//! In both directions: real documents are what it says, and each of its fields is in one of them; and a document
//! from which any field is taken, to which one is added, or in which one has another type, is refused.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails there")]

#[path = "schema/check.rs"]
mod check;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use check::Schema;
use herdfeed::{ClosedSet, DiscardReason, MissCause, Outcome, RejectReason, RemovalCause};
use herdlab::play::play;
use herdlab::run::Document;
use herdlab::scenario::{Scenario, builtin};
use serde_json::{Map, Value, json};

/// A run in which nothing is missing that can be there.
const WHOLE: &str = include_str!("schema/whole.toml");

/// What a result of a load test must say of itself, or it means little: each must be required.
const REQUIRED: &str = "scenario policy seed started_at virtual_time processes keys distribution value_bytes data_bytes capacity \
rate_per_s ttl_ms.fresh ttl_ms.stale ttl_ms.stale_if_error config.permits config.queue config.timeouts config.jitter config.beta \
config.lease_ms origin.model origin.latency_ms origin.capacity origin.state duration_ms requests outcomes expiries origin_calls \
origin_calls_per_expiry origin_peak_running pool_wait_ms shared_reads amplification exposure waiters_peak success_ratio \
latency_ms.p50 latency_ms.p95 latency_ms.p99 latency_ms.max wait_timeouts stale.ratio stale.age_ms_p99 stale.age_ms_max queue_peak \
rejections failures phases[].name phases[].latency_ms phases[].outcomes phases[].origin_calls checks[].name checks[].expected \
checks[].measured checks[].pass pass";

fn schema() -> Schema {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/lab.schema.json");
    Schema::new(serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap())
}

/// A document of very different runs, as it is printed.
fn document() -> Value {
    let mut scenarios = vec![Scenario::parse("whole", WHOLE).unwrap()];
    scenarios.extend(["impatient-callers", "central-refresher"].map(|name| builtin(name).unwrap().unwrap()));
    let mut runs = Vec::new();
    for mut scenario in scenarios {
        scenario.traffic.per_second = scenario.traffic.per_second.min(200.0);
        for policy in ["none", "all", "refresher"] {
            runs.push(play(&scenario, &policy.parse().unwrap(), 1).unwrap());
        }
    }
    serde_json::from_str(&serde_json::to_string(&Document::new(runs)).unwrap()).unwrap()
}

#[test]
fn real_documents_are_what_the_schema_says_and_show_all_of_it() {
    let (schema, document) = (schema(), document());
    let mut seen = BTreeSet::new();
    assert_eq!(schema.complaints(&document, &mut seen), Vec::<String>::new());
    let missing: Vec<_> = schema.fields().difference(&seen).cloned().collect();
    assert_eq!(missing, Vec::<String>::new(), "these are in the schema and in no document");
}

#[test]
fn what_a_result_must_say_is_required() {
    let schema = schema();
    for path in REQUIRED.split_whitespace() {
        assert!(schema.requires("Run", path), "{path}");
    }
    assert!(!schema.requires("Run", "no_such_field") && !schema.requires("Run", "config.no_such_field"));
}

/// The first of each list is enough: they are all alike.
fn each_object(value: &mut Value, change: &mut dyn FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Object(fields) => {
            change(fields);
            fields.values_mut().for_each(|value| each_object(value, change));
        }
        Value::Array(parts) => parts.iter_mut().take(1).for_each(|part| each_object(part, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// How often a change can be made; with `nth`, it is made there.
fn altered(document: &Value, nth: usize, change: &mut dyn FnMut(&mut Map<String, Value>, usize)) -> (Value, usize) {
    let (mut copy, mut at) = (document.clone(), 0);
    each_object(&mut copy, &mut |fields| {
        if (at..at + fields.len()).contains(&nth) {
            change(fields, nth - at);
        }
        at += fields.len();
    });
    (copy, at)
}

/// The labels of what is counted, by the name that the schema has for them.
fn labels() -> Vec<(&'static str, Vec<&'static str>)> {
    fn of<E: ClosedSet>() -> Vec<&'static str> {
        E::all().iter().map(|value| value.label()).collect()
    }
    vec![
        ("Outcome", of::<Outcome>()),
        ("MissCause", of::<MissCause>()),
        ("RemovalCause", of::<RemovalCause>()),
        ("DiscardReason", of::<DiscardReason>()),
        ("RejectReason", of::<RejectReason>()),
    ]
}

#[test]
fn counts_are_of_the_words_that_there_are() {
    let schema = schema();
    for (name, labels) in labels() {
        assert_eq!(schema.labels(name), labels, "{name}");
    }
}

/// Whether the nth field is a count of a label, which may be left out.
fn is_count(document: &Value, nth: usize) -> bool {
    let mut found = false;
    altered(document, nth, &mut |fields, _| {
        found = labels().iter().any(|(_, labels)| fields.keys().all(|name| labels.contains(&name.as_str())));
    });
    found
}

#[test]
fn a_document_that_differs_in_one_field_is_refused() {
    let schema = schema();
    let mut document = document();
    document["runs"].as_array_mut().unwrap().truncate(1);
    let refused = |document: &Value| !schema.complaints(document, &mut BTreeSet::new()).is_empty();
    assert!(!refused(&document));
    let (_, fields) = altered(&document, usize::MAX, &mut |_, _| {});
    assert!(fields > 100, "{fields}");
    let mut counts = 0;
    for nth in 0..fields {
        let nth_name = |fields: &Map<String, Value>, at: usize| fields.keys().nth(at).unwrap().clone();
        let mut name = String::new();
        let (without, _) = altered(&document, nth, &mut |fields, at| {
            name = nth_name(fields, at);
            fields.remove(&name);
        });
        if is_count(&document, nth) {
            counts += 1;
        } else {
            assert!(refused(&without), "without {name}");
        }
        let (other, _) = altered(&document, nth, &mut |fields, at| {
            let name = nth_name(fields, at);
            fields.insert(name, json!([{ "of another": "type" }]));
        });
        assert!(refused(&other), "with another {name}");
        let (more, _) = altered(&document, nth, &mut |fields, _| {
            fields.insert("no_such_field".into(), json!(1));
        });
        assert!(refused(&more), "beside {name}");
    }
    assert!((1..fields / 2).contains(&counts), "{counts} of {fields} are counts");
}

/// The checker itself, on small schemas that say one thing each.
#[test]
fn each_word_of_the_schema_is_heeded() {
    for (schema, good, bad) in [
        (json!({ "type": "integer", "minimum": 0 }), json!(3), json!(-3)),
        (json!({ "type": "integer" }), json!(3), json!(3.5)),
        (json!({ "type": ["number", "null"] }), json!(null), json!("3")),
        (json!({ "const": "1.0" }), json!("1.0"), json!("1.1")),
        (json!({ "enum": ["a", "b"] }), json!("b"), json!("c")),
        (json!({ "type": "array", "items": { "type": "boolean" } }), json!([true]), json!([true, 1])),
        (json!({ "type": "object", "required": ["a"] }), json!({ "a": 1 }), json!({})),
        (json!({ "additionalProperties": { "type": "string" } }), json!({ "a": "b" }), json!({ "a": 1 })),
        (json!({ "properties": { "a": {} }, "additionalProperties": false }), json!({ "a": 1 }), json!({ "b": 1 })),
        (json!({ "propertyNames": { "enum": ["a"] } }), json!({ "a": 1 }), json!({ "b": 1 })),
        (json!({ "anyOf": [{ "type": "null" }, { "const": 1 }] }), json!(1), json!(2)),
        (json!({ "$ref": "#/$defs/X", "$defs": { "X": { "const": 1 } } }), json!(1), json!(2)),
    ] {
        let checked = Schema::new(schema.clone());
        let complaints = |value: &Value| checked.complaints(value, &mut BTreeSet::new()).len();
        assert_eq!((complaints(&good), complaints(&bad)), (0, 1), "{schema}");
    }
}

/// Times as text are those of a calendar.
#[test]
fn the_start_is_a_time() {
    let document = document();
    let started = document["runs"][0]["started_at"].as_str().unwrap();
    assert_eq!((started.len(), &started[10..11], &started[23..]), (24, "T", "Z"));
    assert!(started <= herdlab::run::utc(SystemTime::now()).as_str());
}
