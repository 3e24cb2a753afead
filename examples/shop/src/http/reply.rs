//! What the shop says when it has no answer: one type, one place for status codes.

use std::time::Duration;

use axum::Json;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use herdcache::GetError;
use herdfeed::{ClosedSet, Outcome};

use crate::db::DbError;

/// Names the outcome of a product request, in herdcache's words.
pub(crate) const X_OUTCOME: HeaderName = HeaderName::from_static("x-outcome");
/// The value of [`X_OUTCOME`] when there is no such product.
pub(crate) const ABSENT: &str = "absent";

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The request makes no sense; the text says what would. 400.
    BadInput(String),
    /// There is no such thing. 404.
    NotFound,
    /// Try again after this long. 503.
    Busy { why: String, retry_in: Duration },
    /// The database gave no answer. 502.
    NoAnswer(&'static str),
}

impl Refusal {
    /// The refusal that a failed read of the cache means.
    pub(crate) fn of_cache(error: &GetError<DbError>) -> Self {
        if let Some(retry_in) = error.retry_after() {
            let why = match error {
                GetError::Rejected { reason, .. } => format!("too busy to load this product now ({reason})"),
                _ => "the last load of this product failed a moment ago".to_owned(),
            };
            return Self::Busy { why, retry_in };
        }
        match error {
            GetError::Closed => {
                Self::Busy { why: "the shop is shutting down".to_owned(), retry_in: Duration::from_secs(1) }
            }
            // What the database said stays inside: it may name files and statements.
            _ => Self::NoAnswer("the product could not be loaded"),
        }
    }

    /// The refusal that a failed query outside the cache means.
    pub(crate) fn of_query(error: &DbError) -> Self {
        match error {
            DbError::NoConnection { limit } => Self::Busy {
                why: format!("no database connection became free within {limit:?}"),
                retry_in: Duration::from_secs(1),
            },
            DbError::Interrupted | DbError::Sqlite(_) | DbError::Thread => {
                Self::NoAnswer("the database did not answer")
            }
        }
    }

    /// Bad input as a library worded it. Its text may quote the request, so
    /// control characters are escaped: somebody will read this in a terminal.
    pub(crate) fn bad_input(text: &str) -> Self {
        Self::BadInput(text.chars().flat_map(escaped).collect())
    }
}

fn escaped(character: char) -> impl Iterator<Item = char> {
    let control = character.is_control().then(|| character.escape_default());
    let plain = (!character.is_control()).then_some(character);
    control.into_iter().flatten().chain(plain)
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = |error: &str| Json(serde_json::json!({ "error": error }));
        match self {
            Self::BadInput(text) => (StatusCode::BAD_REQUEST, body(&text)).into_response(),
            Self::NotFound => (StatusCode::NOT_FOUND, body("there is no such thing")).into_response(),
            Self::Busy { why, retry_in } => {
                let after = [(header::RETRY_AFTER, whole_seconds(retry_in).to_string())];
                (StatusCode::SERVICE_UNAVAILABLE, after, body(&why)).into_response()
            }
            Self::NoAnswer(why) => (StatusCode::BAD_GATEWAY, body(why)).into_response(),
        }
    }
}

/// `Retry-After` knows whole seconds only; rounding down would ask too early.
fn whole_seconds(wait: Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}

/// Adds the outcome's name to a response.
pub(crate) fn with_outcome(outcome: Outcome, response: impl IntoResponse) -> Response {
    ([(X_OUTCOME, outcome.label())], response).into_response()
}

/// For every path that is none of ours.
pub(crate) async fn no_such_page() -> Refusal {
    Refusal::NotFound
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_never_too_early() {
        for (millis, seconds) in [(0, 1), (1, 1), (1_000, 1), (1_001, 2), (2_500, 3)] {
            assert_eq!(whole_seconds(Duration::from_millis(millis)), seconds, "{millis} ms");
        }
    }

    #[test]
    fn p2_quoted_input_cannot_steer_a_terminal() {
        let Refusal::BadInput(text) = Refusal::bad_input("tenant `\u{1b}[2Jé`") else {
            panic!("bad input stays bad input");
        };
        assert_eq!(text, "tenant `\\u{1b}[2Jé`");
    }
}
