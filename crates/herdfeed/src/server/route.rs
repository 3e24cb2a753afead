//! From a request to its answer: the one function that knows the order.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::{Request, Response};

use crate::server::account::count;
use crate::server::answer::{self, Body, Refusal};
use crate::server::door::Door;
use crate::server::hub::{Hub, SourcePanicked};
use crate::server::query::{self, Keys, Wish};
use crate::server::stream;

/// How long a wrong token waits for its refusal, to slow down guessing.
const GUESS_PAUSE: Duration = Duration::from_millis(100);

/// Answers one request.
pub(super) async fn answer<B>(
    hub: Arc<Hub>,
    door: Arc<Door>,
    request: Request<B>,
) -> Result<Response<Body>, Infallible> {
    let (parts, _body) = request.into_parts();
    let (path, query) = (parts.uri.path(), parts.uri.query().unwrap_or_default());
    Ok(match door.judge(&parts).and_then(|()| route(&hub, path, query)) {
        Ok(response) => response,
        Err(refusal) => {
            count(&hub.account.refused);
            if refusal == Refusal::Token {
                tokio::time::sleep(GUESS_PAUSE).await;
            }
            refusal.response()
        }
    })
}

/// The answer to a request that passed its door. Starts a stream on the runtime that it is called on.
pub(super) fn route(hub: &Arc<Hub>, path: &str, query: &str) -> Result<Response<Body>, Refusal> {
    match path {
        "/herd/v1/hello" => {
            query::nothing(query)?;
            Ok(answer::lines(Body::ready([hub.hello()?])))
        }
        "/herd/v1/snapshot" => {
            allow(hub, query::keys_only(query)?)?;
            let hello = hub.hello()?;
            let view = hub.view()?;
            Ok(answer::lines(Body::ready([hello].into_iter().chain(view.lines.iter().cloned()))))
        }
        "/herd/v1/stream" => {
            let wish = Wish::parse(query)?;
            allow(hub, wish.keys)?;
            let hello = hub.hello()?;
            let seat = hub.seat().ok_or(Refusal::Full)?;
            Ok(answer::lines(stream::open(seat, wish, hello)))
        }
        path if is_other_version(path) => Err(Refusal::Version),
        _ => Err(Refusal::Path),
    }
}

/// K2: whoever insists on readable keys is told which caches keep theirs hashed, instead of being shown hashes.
fn allow(hub: &Hub, keys: Keys) -> Result<(), Refusal> {
    match keys {
        Keys::AsAllowed => Ok(()),
        Keys::Plain => {
            let hashed = hub.hashed()?;
            if hashed.is_empty() { Ok(()) } else { Err(Refusal::Keys(hashed)) }
        }
    }
}

fn is_other_version(path: &str) -> bool {
    let version = path.strip_prefix("/herd/v").and_then(|rest| rest.split('/').next());
    version.and_then(|version| version.parse::<u16>().ok()).is_some_and(|version| version != crate::hello::VERSION[0])
}

impl From<SourcePanicked> for Refusal {
    fn from(_: SourcePanicked) -> Self {
        Self::Source
    }
}
