//! The filter line: which rows are shown.
//!
//! Words are joined by "and". Each is a substring, `!substring`, or a field with
//! a value; what cannot be understood is an error that names the word.

use std::fmt;

use herdfeed::words::ClosedSet;
use herdfeed::{FlightEnd, MissCause, Outcome};

/// The longest filter, in characters.
pub const LONGEST: usize = 200;

/// A filter that has been understood.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    text: String,
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq)]
enum Term {
    Anywhere(String),
    Nowhere(String),
    Key(String),
    Cache(String),
    Target(String),
    End(&'static str),
    Cause(MissCause),
    Waiters(Order, u64),
    Age(Order, u64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    Above,
    Below,
}

/// Why a filter was not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    word: String,
    wrong: String,
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.word, self.wrong)
    }
}

impl std::error::Error for FilterError {}

/// What a row shows of itself to a filter; `None` where it has no such figure.
#[derive(Clone, Debug, Default)]
pub struct Facets<'a> {
    /// Its key.
    pub key: &'a str,
    /// Its cache or gate.
    pub cache: &'a str,
    /// Its process.
    pub target: &'a str,
    /// Other words in it.
    pub words: &'a str,
    /// Labels of how it ended.
    pub ends: &'a [&'static str],
    /// Why it was needed.
    pub cause: Option<MissCause>,
    /// Its waiters.
    pub waiters: Option<u64>,
    /// Its age.
    pub age_us: Option<u64>,
}

impl Filter {
    /// Understands a filter.
    ///
    /// # Errors
    /// [`FilterError`] names the word and says what is possible in its place.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        if text.chars().count() > LONGEST {
            return Err(FilterError { word: "filter".into(), wrong: format!("longer than {LONGEST} characters") });
        }
        let terms = text.split_whitespace().map(term).collect::<Result<_, _>>()?;
        Ok(Self { text: text.trim().to_owned(), terms })
    }

    /// The filter as it was typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether every row is shown.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether a row is shown.
    pub fn shows(&self, row: &Facets<'_>) -> bool {
        self.terms.iter().all(|term| holds(term, row))
    }
}

fn term(word: &str) -> Result<Term, FilterError> {
    let wrong = |wrong: String| FilterError { word: word.to_owned(), wrong };
    if let Some((field, value)) = word.split_once(':') {
        if value.is_empty() && matches!(field, "key" | "cache" | "target" | "out" | "cause") {
            return Err(wrong("needs a value, as key:user".into()));
        }
        match field {
            "key" => return Ok(Term::Key(value.to_lowercase())),
            "cache" => return Ok(Term::Cache(value.to_lowercase())),
            "target" => return Ok(Term::Target(value.to_lowercase())),
            "out" => {
                return end(value).map(Term::End).ok_or_else(|| wrong(format!("one of {}", end_labels())));
            }
            "cause" => {
                let cause = MissCause::from_label(value);
                return cause.map(Term::Cause).ok_or_else(|| wrong(format!("one of {}", labels::<MissCause>())));
            }
            // A key may hold colons itself: then the word is plain text.
            _ => {}
        }
    }
    for (field, make) in [("w", waiters as fn(Order, &str) -> Option<Term>), ("age", age)] {
        let Some(rest) = word.strip_prefix(field) else { continue };
        let order = match rest.as_bytes().first() {
            Some(b'>') => Order::Above,
            Some(b'<') => Order::Below,
            _ => continue,
        };
        return make(order, &rest[1..]).ok_or_else(|| wrong("needs a number, as w>10 or age>1s".into()));
    }
    match word.strip_prefix('!') {
        Some("") => Err(wrong("needs a text after it".into())),
        Some(text) => Ok(Term::Nowhere(text.to_lowercase())),
        None => Ok(Term::Anywhere(word.to_lowercase())),
    }
}

fn waiters(order: Order, text: &str) -> Option<Term> {
    text.parse().ok().map(|n| Term::Waiters(order, n))
}

fn age(order: Order, text: &str) -> Option<Term> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match &text[digits.len()..] {
        "us" => 1,
        "ms" => 1_000,
        "s" | "" => 1_000_000,
        "m" => 60_000_000,
        _ => return None,
    };
    let value: f64 = digits.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0)?;
    Some(Term::Age(order, crate::figures::whole(value * unit as f64)))
}

fn end(label: &str) -> Option<&'static str> {
    Outcome::from_label(label).map(ClosedSet::label).or_else(|| FlightEnd::from_label(label).map(ClosedSet::label))
}

fn labels<E: ClosedSet>() -> String {
    let labels: Vec<&str> = E::all().iter().map(|value| value.label()).collect();
    labels.join(", ")
}

fn end_labels() -> String {
    let more = FlightEnd::all().iter().map(|end| end.label()).filter(|label| Outcome::from_label(label).is_none());
    let more: Vec<&str> = more.collect();
    format!("{}, {}", labels::<Outcome>(), more.join(", "))
}

fn holds(term: &Term, row: &Facets<'_>) -> bool {
    let has = |field: &str, text: &str| field.to_lowercase().contains(text);
    let anywhere = |text: &str| [row.key, row.cache, row.target, row.words].into_iter().any(|field| has(field, text));
    match term {
        Term::Anywhere(text) => anywhere(text),
        Term::Nowhere(text) => !anywhere(text),
        Term::Key(text) => has(row.key, text),
        Term::Cache(text) => has(row.cache, text),
        Term::Target(text) => has(row.target, text),
        Term::End(label) => row.ends.contains(label),
        Term::Cause(cause) => row.cause == Some(*cause),
        Term::Waiters(order, than) => row.waiters.is_some_and(|n| order.holds(n, *than)),
        Term::Age(order, than) => row.age_us.is_some_and(|us| order.holds(us, *than)),
    }
}

impl Order {
    fn holds(self, value: u64, than: u64) -> bool {
        match self {
            Self::Above => value > than,
            Self::Below => value < than,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row() -> Facets<'static> {
        Facets {
            key: "user:42",
            cache: "users",
            target: "api-2",
            words: "herd_started",
            ends: &["rejected"],
            cause: Some(MissCause::Expired),
            waiters: Some(812),
            age_us: Some(2_410_000),
        }
    }

    #[test]
    fn words_are_joined_by_and() {
        let table = [
            ("", true),
            ("USER", true),
            ("user:42", true),
            ("!api", false),
            ("cache:users key:42 target:api", true),
            ("cache:sessions", false),
            ("out:rejected", true),
            ("out:hit", false),
            ("cause:expired w>10 w<1000 age>1s age<2500ms", true),
            ("w>812", false),
            ("age>1m", false),
        ];
        for (text, shown) in table {
            assert_eq!(Filter::parse(text).unwrap().shows(&row()), shown, "{text}");
        }
        assert!(!Filter::parse("w>0").unwrap().shows(&Facets::default()));
    }

    #[test]
    fn a_bad_word_is_named_with_what_is_possible() {
        let error = |text: &str| Filter::parse(text).unwrap_err().to_string();
        assert_eq!(error("cause:moon"), "cause:moon: one of cold, expired, evicted, invalidated, version");
        assert_eq!(error("w>many"), "w>many: needs a number, as w>10 or age>1s");
        assert_eq!(error("age>5parsec"), "age>5parsec: needs a number, as w>10 or age>1s");
        assert_eq!(error("key:"), "key:: needs a value, as key:user");
        assert_eq!(error("!"), "!: needs a text after it");
        assert!(error("out:meteor").starts_with("out:meteor: one of hit, stale,"));
        assert!(error(&"x".repeat(201)).contains("longer than 200"));
    }

    proptest! {
        /// P4: no text makes the parser panic.
        #[test]
        fn p4_any_text_is_a_filter_or_an_error(text in "\\PC*") {
            if let Ok(filter) = Filter::parse(&text) {
                filter.shows(&row());
            }
        }

        #[test]
        fn p4_any_field_with_any_value_is_a_filter_or_an_error(
            field in prop::sample::select(vec!["w>", "w<", "age>", "age<", "out:", "cause:", "!", "key:"]),
            value in "\\PC{0,8}",
        ) {
            drop(Filter::parse(&format!("{field}{value}")));
        }
    }
}
