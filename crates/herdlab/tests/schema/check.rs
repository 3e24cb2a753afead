//! As much of JSON Schema as the lab's schema uses. A word that it does not know is an error, so that nothing in the schema
//! is there for show.

use std::collections::BTreeSet;

use serde_json::Value;

/// Words that say nothing of a value.
const SILENT: [&str; 4] = ["$schema", "$defs", "title", "description"];

/// A schema with its definitions.
pub(crate) struct Schema(Value);

impl Schema {
    pub(crate) fn new(schema: Value) -> Self {
        Self(schema)
    }

    /// What is wrong with a value. The fields of the schema that are met on the way are put into `seen`.
    pub(crate) fn complaints(&self, value: &Value, seen: &mut BTreeSet<String>) -> Vec<String> {
        let mut complaints = Vec::new();
        self.check(&self.0, "", ("", value), &mut Notes { seen, complaints: &mut complaints });
        complaints
    }

    /// Every field that it defines, as `Definition.field`.
    pub(crate) fn fields(&self) -> BTreeSet<String> {
        let definitions = self.0["$defs"].as_object().into_iter().flatten();
        let all = definitions.map(|(name, definition)| (name.as_str(), definition)).chain([("", &self.0)]);
        all.flat_map(|(name, definition)| {
            let fields = definition["properties"].as_object().into_iter().flatten();
            fields.map(move |(field, _)| format!("{name}.{field}"))
        })
        .collect()
    }

    /// The names that a definition allows.
    pub(crate) fn labels(&self, definition: &str) -> Vec<&str> {
        let names = &self.0["$defs"][definition]["propertyNames"]["enum"];
        names.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Whether each step of a path is required from a definition on.
    pub(crate) fn requires(&self, definition: &str, path: &str) -> bool {
        let mut at = &self.0["$defs"][definition];
        for part in path.split('.') {
            let (name, list) = part.strip_suffix("[]").map_or((part, false), |name| (name, true));
            let required = at["required"].as_array().into_iter().flatten().any(|one| one == name);
            if !required {
                return false;
            }
            at = self.resolved(&at["properties"][name]);
            if list {
                at = self.resolved(&at["items"]);
            }
        }
        true
    }

    /// What a schema refers to, past `null` as the other possibility.
    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let schema = schema["anyOf"].get(0).unwrap_or(schema);
        schema["$ref"].as_str().map_or(schema, |name| self.definition(name).1)
    }

    fn definition<'a>(&'a self, reference: &'a str) -> (&'a str, &'a Value) {
        let name = reference.strip_prefix("#/$defs/").expect("references are to definitions");
        (name, self.0["$defs"].get(name).unwrap_or_else(|| panic!("no definition {name}")))
    }

    fn check(&self, schema: &Value, of: &str, (at, value): (&str, &Value), notes: &mut Notes<'_>) {
        for (word, says) in schema.as_object().expect("a schema is an object") {
            let good = match word.as_str() {
                "$ref" => {
                    let (name, definition) = self.definition(says.as_str().unwrap());
                    self.check(definition, name, (at, value), notes);
                    true
                }
                "anyOf" => self.any_of(says, (at, value), notes),
                "type" => list(says).iter().any(|kind| is(kind.as_str().unwrap(), value)),
                "enum" => list(says).contains(&value),
                "const" => says == value,
                "minimum" => value.as_f64().is_none_or(|number| number >= says.as_f64().unwrap()),
                "required" => list(says)
                    .iter()
                    .all(|name| value.as_object().is_none_or(|fields| fields.contains_key(name.as_str().unwrap()))),
                "items" => {
                    let parts = value.as_array().into_iter().flatten();
                    parts.for_each(|part| self.check(says, of, (&format!("{at}[]"), part), notes));
                    true
                }
                "properties" | "additionalProperties" | "propertyNames" => {
                    self.fields_of(schema, word, of, (at, value), notes);
                    true
                }
                word => {
                    assert!(SILENT.contains(&word), "the schema uses {word}, which is not checked");
                    true
                }
            };
            if !good {
                notes.complaints.push(format!("{at}: {word} {says} is not {value}"));
            }
        }
    }

    fn any_of(&self, says: &Value, (at, value): (&str, &Value), notes: &mut Notes<'_>) -> bool {
        list(says).iter().any(|one| {
            let mut complaints = Vec::new();
            self.check(one, "", (at, value), &mut Notes { seen: notes.seen, complaints: &mut complaints });
            complaints.is_empty()
        })
    }

    fn fields_of(&self, schema: &Value, word: &str, of: &str, (at, value): (&str, &Value), notes: &mut Notes<'_>) {
        let says = &schema[word];
        for (name, field) in value.as_object().into_iter().flatten() {
            let there = format!("{at}.{name}");
            let known = schema["properties"].get(name);
            match (word, known) {
                ("properties", Some(known)) => {
                    notes.seen.insert(format!("{of}.{name}"));
                    self.check(known, of, (&there, field), notes);
                }
                ("propertyNames", _) => self.check(says, of, (&there, &Value::String(name.clone())), notes),
                ("additionalProperties", None) if says == &Value::Bool(false) => {
                    notes.complaints.push(format!("{there} is not in the schema"));
                }
                ("additionalProperties", None) => self.check(says, of, (&there, field), notes),
                _ => {}
            }
        }
    }
}

/// What is found on the way.
struct Notes<'a> {
    seen: &'a mut BTreeSet<String>,
    complaints: &'a mut Vec<String>,
}

/// A word's list, or the one thing that it says.
fn list(says: &Value) -> Vec<&Value> {
    says.as_array().map_or_else(|| vec![says], |all| all.iter().collect())
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type {other}"),
    }
}
