//! What is public and waits says what happens when it is dropped.
//!
//! A future may be dropped at any await, and its caller must know what that loses. So every
//! public function that is `async` or gives a future, in traits too, and every public type
//! that is a future, or an alias of one, has a section `# Cancel safety`.

use crate::headings::{self, public_traits};
use crate::source::{Token, code, item_end, test_lines};

/// The heading that is asked for.
const HEADING: &str = "# Cancel safety";

/// What of one file is a public future: its name, and the line on which it begins.
fn futures(source: &str) -> Vec<(String, usize)> {
    let code = code(source);
    let tests = test_lines(&code);
    let traits = public_traits(&code);
    let mut found = Vec::new();
    for at in 0..code.len() {
        let line = code[at].line;
        if tests.iter().any(|(first, last)| (*first..=*last).contains(&line)) {
            continue;
        }
        let in_trait = traits.iter().any(|(open, close)| (*open..*close).contains(&at));
        let name = function(&code, at, in_trait).or_else(|| future_type(&code, at)).or_else(|| alias(&code, at));
        found.extend(name.map(|name| (name, line)));
    }
    found
}

/// The name of a public function that begins at `at`, if it gives a future.
fn function(code: &[Token<'_>], at: usize, in_trait: bool) -> Option<String> {
    let public = usize::from(code[at].is("pub"));
    // In a trait, a function begins where nothing of it stands before.
    let begins = public == 1 || (in_trait && !(at > 0 && code[at - 1].is("async")));
    let is_async = usize::from(code.get(at + public)?.is("async"));
    let fun = at + public + is_async;
    if !begins || !code.get(fun)?.is("fn") {
        return None;
    }
    let head: Vec<_> = code[fun..].iter().take_while(|token| !token.is("{") && !token.is(";")).collect();
    let gives =
        head.windows(4).any(|four| four.iter().zip(["-", ">", "impl", "Future"]).all(|(token, is)| token.is(is)));
    (is_async == 1 || gives).then(|| code[fun + 1].text.to_owned())
}

/// The name of a public type whose declaration begins at `at`, if it is a future.
fn future_type(code: &[Token<'_>], at: usize) -> Option<String> {
    if !(code[at].is("pub") && code.get(at + 1)?.is("struct")) {
        return None;
    }
    let name = code.get(at + 2)?.text;
    let is_future = code.windows(3).any(|three| three[0].is("Future") && three[1].is("for") && three[2].is(name));
    is_future.then(|| name.to_owned())
}

/// The name of a public alias that begins at `at`, if it stands for a future.
fn alias(code: &[Token<'_>], at: usize) -> Option<String> {
    let begins = code[at].is("pub") && code.get(at + 1)?.is("type");
    let is_future = code[at..=item_end(code, at)].iter().any(|token| token.is("Future"));
    (begins && is_future).then(|| code[at + 2].text.to_owned())
}

#[test]
fn public_futures_say_what_dropping_them_loses() {
    headings::check(HEADING, 16, futures);
}

#[test]
fn a_silent_future_is_seen() {
    let source = "/// A.\npub async fn a() {}\n/// B.\n///\n/// # Cancel safety\n/// Fine.\n#[must_use]\npub async fn b() {}\n\
                  pub(crate) async fn c() {}\npub fn d() -> impl Future<Output = ()> {}\npub fn e(f: impl Future<Output = ()>) {}\n\
                  pub trait T {\n/// F.\nfn f(&self) -> impl Future<Output = ()>;\nasync fn g(&self);\nfn i(&self);\n}\n\
                  trait U { async fn j(&self); }\n/// K.\npub struct K;\nimpl Future for K {}\npub struct L;\npub type N = Pin<Box<dyn Future<Output = ()>>>;\n#[cfg(test)]\nmod tests { pub async fn m() {} }";
    let names: Vec<_> = futures(source).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a", "b", "d", "f", "g", "K", "N"]);
    let seen = headings::complaints("x.rs", source, HEADING, futures);
    assert_eq!(seen.len(), 6, "{seen:?}");
    assert_eq!(seen[0], "x.rs:2 `a` lacks `# Cancel safety`");
}
