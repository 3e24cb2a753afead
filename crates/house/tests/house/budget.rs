//! How long files and functions may be.
//!
//! A file that nobody can hold in mind is where two concerns begin to share
//! state. What is compiled for tests only does not count.

use crate::source::{code, functions, test_lines};
use crate::tree;

/// Longest production part of a file, in lines.
const FILE_LIMIT: usize = 400;
/// Half of the files are at most this long.
const FILE_P50: usize = 150;
/// Nine files of ten are at most this long.
const FILE_P90: usize = 300;
/// A longer function is named in the output.
const FUNCTION_WARN: usize = 40;
/// A longer function fails.
const FUNCTION_LIMIT: usize = 80;

/// What one file measures.
struct Size {
    production: usize,
    long: Vec<(String, usize)>,
}

fn measure(path: &str, source: &str) -> Size {
    let code = code(source);
    let tests = test_lines(&code);
    let hidden: usize = tests.iter().map(|(first, last)| last - first + 1).sum();
    let in_tests = |line: usize| tests.iter().any(|(first, last)| (*first..=*last).contains(&line));
    let found = functions(&code).into_iter().filter(|function| !in_tests(function.first));
    let lengths = found.map(|f| (format!("{path}:{} {}", f.first, f.name), f.last - f.first + 1));
    Size { production: source.lines().count() - hidden, long: lengths.filter(|(_, n)| *n > FUNCTION_WARN).collect() }
}

/// Whether the file is part of what is shipped or shown, not of the tests.
fn is_production(path: &str) -> bool {
    let inside = ["/src/", "/benches/", "/examples/"].iter().any(|folder| path.contains(folder));
    let tests = path.ends_with("/tests.rs") || path.contains("/tests/");
    inside && !tests
}

/// The value that the given share of `sorted` does not exceed.
fn percentile(sorted: &[usize], share: usize) -> usize {
    let rank = (sorted.len() * share).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0)
}

fn file_complaints(path: &str, size: &Size) -> Vec<String> {
    let mut complaints = Vec::new();
    if size.production > FILE_LIMIT {
        complaints.push(format!("{path}: {} production lines, at most {FILE_LIMIT}", size.production));
    }
    let too_long = size.long.iter().filter(|(_, lines)| *lines > FUNCTION_LIMIT);
    complaints.extend(too_long.map(|(place, lines)| format!("{place}: {lines} lines, at most {FUNCTION_LIMIT}")));
    complaints
}

#[test]
fn files_and_functions_are_short() {
    let (mut complaints, mut sizes, mut warned) = (Vec::new(), Vec::new(), Vec::new());
    for file in tree::rust_files().iter().filter(|file| is_production(&file.path)) {
        let size = measure(&file.path, file.text());
        complaints.extend(file_complaints(&file.path, &size));
        sizes.push(size.production);
        warned.extend(size.long);
    }
    sizes.sort_unstable();
    let (p50, p90) = (percentile(&sizes, 50), percentile(&sizes, 90));
    eprintln!("{} files: p50 {p50}, p90 {p90}, longest {} lines", sizes.len(), percentile(&sizes, 100));
    eprintln!("{} functions above {FUNCTION_WARN} lines", warned.len());
    for (place, lines) in &warned {
        eprintln!("  {place}: {lines}");
    }
    if p50 > FILE_P50 || p90 > FILE_P90 {
        complaints.push(format!("p50 is {p50} (at most {FILE_P50}), p90 is {p90} (at most {FILE_P90})"));
    }
    tree::report(&complaints);
}

#[test]
fn what_is_too_long_is_seen() {
    let body = "    a();\n".repeat(FUNCTION_LIMIT);
    let source = format!("fn long() {{\n{body}}}\n#[cfg(test)]\nmod tests {{\n{}}}\n", "fn t() {}\n".repeat(500));
    let size = measure("a.rs", &source);
    assert_eq!(size.production, FUNCTION_LIMIT + 2);
    assert_eq!(file_complaints("a.rs", &size), ["a.rs:1 long: 82 lines, at most 80"]);
    let size = measure("b.rs", &"// why\n".repeat(FILE_LIMIT + 1));
    assert_eq!(file_complaints("b.rs", &size), ["b.rs: 401 production lines, at most 400"]);
    assert_eq!(percentile(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 90), 9);
    assert!(is_production("crates/a/src/b/c.rs") && !is_production("crates/a/tests/c.rs"));
}
