//! Keys, as the application of a scenario makes them of a row's number.
//!
//! The engine sees the name alone: hashed, compared and written into a shared store. The number goes along
//! unseen, so that the database knows which row is meant, and a reader knows whether it got that one. Two of the forms
//! are mistakes that applications make: a run with one of them must show answers of another key.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::scenario::KeyForm;

/// A key of the cache.
#[derive(Clone, Debug)]
pub(super) struct RowKey {
    number: u64,
    name: Name,
}

/// What of it the engine sees.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    Number(u64),
    Parts(Arc<(String, String)>),
    Text(Arc<str>),
}

impl RowKey {
    /// The key of a row.
    pub(super) fn of(form: KeyForm, number: u64) -> Self {
        let name = match form {
            KeyForm::Number => Name::Number(number),
            KeyForm::TenantAndId => Name::Parts(Arc::new(parts(number))),
            KeyForm::Joined => {
                let (tenant, id) = parts(number);
                Name::Text(format!("{tenant}:{id}").into())
            }
            KeyForm::IdAlone => Name::Text(parts(number).1.into()),
        };
        Self { number, name }
    }

    /// The row's number.
    pub(super) fn number(&self) -> u64 {
        self.number
    }
}

/// Tenant and id of a row: each row and the next make a pair that careless keys confuse.
fn parts(number: u64) -> (String, String) {
    let (pair, second) = (number / 2, number % 2 == 1);
    let between = match pair % 6 {
        // The same id of two tenants.
        0 => return (if second { format!("west {pair}") } else { format!("east {pair}") }, pair.to_string()),
        // A part that is empty.
        1 => return if second { (pair.to_string(), String::new()) } else { (String::new(), pair.to_string()) },
        2 => ":",
        // What ends a text in JSON, and what a program in C would read as the end.
        3 => "\",\"",
        4 => "\0",
        _ => "][",
    };
    let text = pair.to_string();
    if second { (format!("{text}{between}a"), "b".into()) } else { (text, format!("a{between}b")) }
}

impl PartialEq for RowKey {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for RowKey {}

impl Hash for RowKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.name {
            Name::Number(number) => number.hash(state),
            Name::Parts(parts) => parts.hash(state),
            Name::Text(text) => text.hash(state),
        }
    }
}

impl Serialize for RowKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.name {
            Name::Number(number) => number.serialize(serializer),
            Name::Parts(parts) => (&parts.0, &parts.1).serialize(serializer),
            Name::Text(text) => text.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use herdcache::SharedKey;

    const ROWS: u64 = 6_000;

    /// Different keys, as the engine tells them apart and as a shared store does.
    fn different(form: KeyForm) -> (usize, usize) {
        let keys: Vec<_> = (0..ROWS).map(|number| RowKey::of(form, number)).collect();
        let texts: HashSet<_> =
            keys.iter().map(|key| SharedKey::of("rows", 1, key).unwrap().text().to_owned()).collect();
        (keys.into_iter().collect::<HashSet<_>>().len(), texts.len())
    }

    /// K1, L8: two parts are never mistaken; each careless form mistakes what it was made to mistake.
    #[test]
    fn k1_only_the_mistakes_confuse_rows() {
        for form in [KeyForm::Number, KeyForm::TenantAndId] {
            assert_eq!(different(form), (6_000, 6_000), "{form:?}");
        }
        // One pair in six differs in where the colon stands.
        assert_eq!(different(KeyForm::Joined), (5_500, 5_500));
        let (alone, texts) = different(KeyForm::IdAlone);
        assert!(alone == texts && alone < 5_500, "{alone}, {texts}");
    }
}
