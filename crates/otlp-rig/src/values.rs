//! Values of attributes as text.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};

/// Attributes by their keys. A key that is there twice keeps its last value.
pub(crate) fn attributes(sent: &[KeyValue]) -> BTreeMap<String, String> {
    sent.iter().map(|one| (one.key.clone(), one.value.as_ref().map(text).unwrap_or_default())).collect()
}

fn text(value: &AnyValue) -> String {
    match &value.value {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::BoolValue(truth)) => truth.to_string(),
        Some(Value::IntValue(whole)) => whole.to_string(),
        Some(Value::DoubleValue(real)) => real.to_string(),
        Some(Value::ArrayValue(list)) => list.values.iter().map(text).collect::<Vec<_>>().join(","),
        // Nobody here sends these; what is there is shown, so that a test that gets one says so.
        Some(other) => format!("{other:?}"),
        None => String::new(),
    }
}
