//! [`Door`]: who may ask.
//!
//! A page in somebody's browser can reach loopback ports. It cannot hide its
//! `Origin`, and a name that was rebound to 127.0.0.1 stands in `Host`; both are
//! refused. A Unix socket asks the kernel who is at the other end.

use hyper::header::{AUTHORIZATION, HOST, HeaderMap, ORIGIN};
use hyper::http::request::Parts;
use hyper::{Method, Uri};

use crate::server::answer::Refusal;
use crate::server::peers::Peers;
use crate::token::Token;

/// Who may ask.
#[derive(Debug)]
pub(super) enum Door {
    /// A Unix socket: these peers were let in when they connected.
    Unix(Peers),
    /// Loopback TCP.
    Loopback(Option<Token>),
    /// TCP that other machines reach. A page cannot know the token, so any `Host` will do.
    Reachable(Token),
    /// Within the application's own server, which has decided who gets this far and by which name it is called.
    #[cfg(feature = "mount")]
    Mounted(Option<Token>),
}

impl Door {
    /// Whether this request may go on to its path.
    pub(super) fn judge(&self, request: &Parts) -> Result<(), Refusal> {
        if request.headers.contains_key(ORIGIN) {
            return Err(Refusal::Origin);
        }
        match self {
            Self::Unix(_) => {}
            #[cfg(feature = "mount")]
            Self::Mounted(token) => token.as_ref().map_or(Ok(()), |token| check_token(&request.headers, token))?,
            Self::Loopback(token) => {
                check_host(request)?;
                token.as_ref().map_or(Ok(()), |token| check_token(&request.headers, token))?;
            }
            Self::Reachable(token) => check_token(&request.headers, token)?,
        }
        if request.method == Method::GET { Ok(()) } else { Err(Refusal::Method) }
    }
}

fn check_host(request: &Parts) -> Result<(), Refusal> {
    let mut hosts = request.headers.get_all(HOST).iter();
    let host = hosts.next().and_then(|host| host.to_str().ok()).ok_or(Refusal::Host)?;
    let target = request.uri.host();
    if hosts.next().is_some() || !is_this_machine(host) || target.is_some_and(|target| !is_local_name(target)) {
        return Err(Refusal::Host);
    }
    Ok(())
}

/// Whether a `Host` header, with or without a port, names this machine.
fn is_this_machine(host: &str) -> bool {
    host.parse::<Uri>().is_ok_and(|uri| uri.host().is_some_and(is_local_name))
}

fn is_local_name(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost") || matches!(name, "127.0.0.1" | "[::1]")
}

fn check_token(headers: &HeaderMap, token: &Token) -> Result<(), Refusal> {
    let mut presented = headers.get_all(AUTHORIZATION).iter();
    let secret = presented.next().map_or(&b""[..], |value| {
        let value = value.as_bytes();
        match value.split_at_checked(7) {
            Some((scheme, secret)) if scheme.eq_ignore_ascii_case(b"bearer ") => secret,
            Some(_) | None => b"",
        }
    });
    if token.matches(secret) && presented.next().is_none() { Ok(()) } else { Err(Refusal::Token) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    const SECRET: &str = "0f6b3c1d9a8e47528c1f0a9b7d6e5c43";

    fn judge(door: &Door, method: &str, uri: &str, headers: &[(&str, &str)]) -> Result<(), Refusal> {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        door.judge(&request.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn p1_tcp_answers_only_to_this_machines_names() {
        let door = Door::Loopback(None);
        for host in ["localhost", "LOCALHOST:9000", "127.0.0.1:1", "[::1]", "[::1]:9000"] {
            assert_eq!(judge(&door, "GET", "/", &[("host", host)]), Ok(()), "{host}");
        }
        for host in
            ["evil.example", "localhost.evil.example", "127.0.0.2", "127.0.0.1.nip.example", "", "::1", "a@localhost@b"]
        {
            assert_eq!(judge(&door, "GET", "/", &[("host", host)]), Err(Refusal::Host), "{host}");
        }
        assert_eq!(judge(&door, "GET", "/", &[]), Err(Refusal::Host));
        assert_eq!(judge(&door, "GET", "/", &[("host", "localhost"), ("host", "evil")]), Err(Refusal::Host));
        assert_eq!(judge(&door, "GET", "http://evil.example/", &[("host", "localhost")]), Err(Refusal::Host));
    }

    #[test]
    fn p1_web_pages_and_writers_are_refused_at_every_door() {
        let token = Token::new(SECRET).unwrap();
        let bearer = format!("Bearer {SECRET}");
        for door in [Door::Unix(Peers::Owner), Door::Loopback(None), Door::Reachable(token)] {
            let good = [("host", "localhost"), ("authorization", bearer.as_str())];
            let page = [good[0], good[1], ("origin", "http://localhost")];
            assert_eq!(judge(&door, "GET", "/", &good), Ok(()));
            assert_eq!(judge(&door, "GET", "/", &page), Err(Refusal::Origin));
            for method in ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "CONNECT"] {
                assert_eq!(judge(&door, method, "/", &good), Err(Refusal::Method), "{method}");
            }
        }
    }

    #[test]
    fn p1_a_token_must_be_presented_whole_and_once() {
        let door = Door::Reachable(Token::new(SECRET).unwrap());
        let right = format!("bearer {SECRET}");
        assert_eq!(judge(&door, "GET", "/", &[("host", "db1:9000"), ("authorization", &right)]), Ok(()));
        let basic = format!("Basic {SECRET}");
        for wrong in ["", "Bearer", "Bearer ", "Bearer 0f6b3c1d9a8e47528c1f0a9b7d6e5c4", &basic, SECRET] {
            assert_eq!(judge(&door, "GET", "/", &[("authorization", wrong)]), Err(Refusal::Token), "{wrong}");
        }
        assert_eq!(judge(&door, "GET", "/", &[]), Err(Refusal::Token));
        let twice = [("authorization", right.as_str()), ("authorization", right.as_str())];
        assert_eq!(judge(&door, "GET", "/", &twice), Err(Refusal::Token));
        // The token is asked for before the method: a stranger learns nothing of what is served.
        assert_eq!(judge(&door, "POST", "/", &[]), Err(Refusal::Token));
    }
}
