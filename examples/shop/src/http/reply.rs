//! What the shop says when it has no answer: one type, one place for status codes.

use axum::Json;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use herdcache::{ErrorKind, GetError};
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
    /// Try again after this many seconds. 503.
    Busy { why: String, seconds: u64 },
    /// The database gave no answer. 502.
    NoAnswer(&'static str),
}

impl Refusal {
    /// The refusal that a failed read of the cache means.
    pub(crate) fn of_cache(error: &GetError<DbError>) -> Self {
        let seconds = error.retry_after_seconds().unwrap_or(1);
        match error.kind() {
            ErrorKind::Busy => {
                let why = match error {
                    GetError::Rejected { reason, .. } => format!("too busy to load this product now ({reason})"),
                    _ => "the last load of this product failed a moment ago".to_owned(),
                };
                Self::Busy { why, seconds }
            }
            ErrorKind::Closed => Self::Busy { why: "the shop is shutting down".to_owned(), seconds },
            // What the database said stays inside: it may name files and statements.
            ErrorKind::Timeout | ErrorKind::OriginFailed | ErrorKind::Defect => {
                Self::NoAnswer("the product could not be loaded")
            }
        }
    }

    /// The refusal that a failed query outside the cache means.
    pub(crate) fn of_query(error: &DbError) -> Self {
        match error {
            DbError::NoConnection { limit } => {
                Self::Busy { why: format!("no database connection became free within {limit:?}"), seconds: 1 }
            }
            DbError::Interrupted | DbError::Sqlite(_) | DbError::Thread | DbError::OnPurpose => {
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
            Self::Busy { why, seconds } => {
                (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, seconds.to_string())], body(&why))
                    .into_response()
            }
            Self::NoAnswer(why) => (StatusCode::BAD_GATEWAY, body(why)).into_response(),
        }
    }
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
    fn p2_quoted_input_cannot_steer_a_terminal() {
        let Refusal::BadInput(text) = Refusal::bad_input("tenant `\u{1b}[2Jé`") else {
            panic!("bad input stays bad input");
        };
        assert_eq!(text, "tenant `\\u{1b}[2Jé`");
    }
}
