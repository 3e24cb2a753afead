//! Rust source as tokens: enough of the language to find items, paths and comments.
//!
//! A line scan would take a brace in a string for code, and a full parser would
//! not see into macros, where property tests live. Tokens serve both. Types,
//! names and expansion are deliberately not understood.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A word of the language or a name.
    Word,
    /// A string, character or number.
    Literal,
    /// A lifetime or label.
    Lifetime,
    /// A comment of any kind, with its marks.
    Comment,
    /// One character of punctuation.
    Mark,
}

/// One token with the line it begins on, counted from 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
    pub(crate) line: usize,
}

impl Token<'_> {
    /// Whether this is exactly the given word or mark, and no comment or string.
    pub(crate) fn is(&self, text: &str) -> bool {
        matches!(self.kind, Kind::Word | Kind::Mark) && self.text == text
    }
}

/// All tokens of a file, comments included.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while let Some(first) = rest.chars().next() {
        let (kind, length) = next(rest, first);
        let (this, after) = rest.split_at(length);
        if let Some(kind) = kind {
            found.push(Token { kind, text: this, line });
        }
        line += this.matches('\n').count();
        rest = after;
    }
    found
}

/// The tokens without the comments.
pub(crate) fn code(text: &str) -> Vec<Token<'_>> {
    tokens(text).into_iter().filter(|token| token.kind != Kind::Comment).collect()
}

/// Kind and length in bytes of what `rest` begins with; no kind for a space.
fn next(rest: &str, first: char) -> (Option<Kind>, usize) {
    if first.is_whitespace() {
        return (None, first.len_utf8());
    }
    if rest.starts_with("//") {
        return (Some(Kind::Comment), rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (Some(Kind::Comment), block_comment(rest));
    }
    if let Some(length) = string(rest) {
        return (Some(Kind::Literal), length);
    }
    if first == '\'' {
        return quote(rest);
    }
    if first.is_alphabetic() || first == '_' {
        let start = if rest.starts_with("r#") { 2 } else { 0 };
        return (Some(Kind::Word), start + word(&rest[start..]));
    }
    if first.is_ascii_digit() {
        return (Some(Kind::Literal), word(rest));
    }
    (Some(Kind::Mark), first.len_utf8())
}

fn word(rest: &str) -> usize {
    rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// Length of a string literal of any spelling, when `rest` begins with one.
fn string(rest: &str) -> Option<usize> {
    let prefix = rest.find(|c| !matches!(c, 'b' | 'c' | 'r')).filter(|length| *length <= 2)?;
    let body = &rest[prefix..];
    if rest[..prefix].ends_with('r') {
        let hashes = body.find(|c| c != '#')?;
        let inside = body[hashes..].strip_prefix('"')?;
        let end = format!("\"{}", "#".repeat(hashes));
        let length = inside.find(&end).map_or(inside.len(), |at| at + end.len());
        return Some(prefix + hashes + 1 + length);
    }
    let inside = body.strip_prefix('"')?;
    Some(prefix + 1 + closing(inside, '"'))
}

/// A character literal or a lifetime.
fn quote(rest: &str) -> (Option<Kind>, usize) {
    let inside = &rest[1..];
    let first = inside.chars().next();
    let second = inside.chars().nth(1);
    if first == Some('\\') || second == Some('\'') {
        return (Some(Kind::Literal), 1 + closing(inside, '\''));
    }
    (Some(Kind::Lifetime), 1 + word(inside))
}

/// Bytes up to and including the closing quote; a backslash hides what follows it.
fn closing(inside: &str, quote: char) -> usize {
    let mut hidden = false;
    for (at, c) in inside.char_indices() {
        match c {
            _ if hidden => hidden = false,
            '\\' => hidden = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    inside.len()
}

/// Position of the mark that closes the bracket at `open`, or the last token.
pub(crate) fn matching(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        if token.kind != Kind::Mark {
            continue;
        }
        match token.text {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len() - 1
}

/// Position of the last token of the item that begins at `start`: its `;`, the
/// end of its first block, or what closes the place it stands in.
pub(crate) fn item_end(tokens: &[Token<'_>], start: usize) -> usize {
    let mut at = start;
    while at < tokens.len() {
        if tokens[at].is("(") || tokens[at].is("[") {
            at = matching(tokens, at);
        } else if tokens[at].is("{") {
            return matching(tokens, at);
        } else if tokens[at].is(";") {
            return at;
        } else if tokens[at].is("}") {
            return at - 1;
        }
        at += 1;
    }
    tokens.len() - 1
}

/// One function with its name, and the lines of its signature and body.
#[derive(Debug)]
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    pub(crate) first: usize,
    pub(crate) last: usize,
}

/// Every function that has a body, also inside macros.
pub(crate) fn functions<'a>(code: &[Token<'a>]) -> Vec<Function<'a>> {
    let mut found = Vec::new();
    for at in 0..code.len().saturating_sub(1) {
        if !code[at].is("fn") || code[at + 1].kind != Kind::Word {
            continue;
        }
        let end = item_end(code, at);
        if code[end].is("}") {
            found.push(Function { name: code[at + 1].text, first: code[at].line, last: code[end].line });
        }
    }
    found
}

/// The lines, first and last included, that are compiled for tests only.
pub(crate) fn test_lines(code: &[Token<'_>]) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for at in 0..code.len() {
        let inside = found.last().is_some_and(|(_, last)| code[at].line <= *last);
        if inside || !is_test_only(code, at) {
            continue;
        }
        let end = item_end(code, matching(code, at + 1) + 1);
        found.push((code[at].line, code[end].line));
    }
    found
}

/// Whether `#[cfg(test)]`, or a `cfg` that asks for `test` among others, begins here.
fn is_test_only(code: &[Token<'_>], at: usize) -> bool {
    let begins = code.len() > at + 4 && code[at].is("#") && code[at + 1].is("[") && code[at + 2].is("cfg");
    if !begins {
        return false;
    }
    let inside = &code[at + 2..matching(code, at + 1)];
    inside.iter().any(|token| token.is("test")) && !inside.iter().any(|token| token.is("not") || token.is("any"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<&str> {
        code(source).iter().map(|token| token.text).collect()
    }

    #[test]
    fn strings_characters_and_comments_hide_their_braces() {
        let source = "f(\"{ \\\" {\", r#\"{\"{\"#, b\"{\", '{', '\\'', 'a) /* { /* { */ */ // {\n}";
        let expected = [
            "f",
            "(",
            "\"{ \\\" {\"",
            ",",
            "r#\"{\"{\"#",
            ",",
            "b\"{\"",
            ",",
            "'{'",
            ",",
            "'\\''",
            ",",
            "'a",
            ")",
            "}",
        ];
        assert_eq!(texts(source), expected);
        assert_eq!(texts("r#type 0..1_u8 break"), ["r#type", "0", ".", ".", "1_u8", "break"]);
    }

    #[test]
    fn functions_are_found_with_their_lines() {
        let source = "trait T { fn a(&self); }\nfn b(x: [u8; 2]) -> fn(u8) {\n  '}';\n}\nmacro! { fn c() {} }";
        let found: Vec<_> = functions(&code(source)).iter().map(|f| (f.name.to_owned(), f.first, f.last)).collect();
        assert_eq!(found, [("b".to_owned(), 2, 4), ("c".to_owned(), 5, 5)]);
    }

    #[test]
    fn test_only_items_end_where_they_end() {
        let source = "fn a() {}\n#[cfg(test)]\nuse x::y;\nfn b() {}\n#[cfg(all(test, unix))]\nmod t {\n fn c() {}\n}\nfn d() {}\n#[cfg(not(test))]\nfn e() {}";
        assert_eq!(test_lines(&code(source)), [(2, 3), (5, 8)]);
    }
}
