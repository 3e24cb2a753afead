//! What came and what went between two lists of items.
//!
//! Lines are compared as they are. An item that changes is one that goes and one that comes: a
//! reader sees both, and nothing here judges whether that breaks anybody.

/// The lines that only one of both has: `-` for those of `kept`, `+` for those of `now`, each in its order.
pub(crate) fn changes(kept: &str, now: &str) -> Vec<String> {
    let mut left: Vec<&str> = kept.lines().collect();
    let mut came = Vec::new();
    for line in now.lines() {
        // A line may stand there twice: each takes one of the other side's.
        match left.iter().position(|other| *other == line) {
            Some(at) => _ = left.remove(at),
            None => came.push(format!("+ {line}")),
        }
    }
    left.into_iter().map(|line| format!("- {line}")).chain(came).collect()
}

#[cfg(test)]
mod tests {
    use super::changes;

    #[test]
    fn what_comes_goes_and_changes_is_seen() {
        assert!(changes("a\nb\n", "a\nb\n").is_empty());
        assert_eq!(changes("a\nb(x)\nc\n", "a\nb(y)\nc\nd\n"), ["- b(x)", "+ b(y)", "+ d"]);
        assert_eq!(changes("", "a\n"), ["+ a"]);
        assert_eq!(changes("a\na\n", "a\n"), ["- a"]);
    }
}
