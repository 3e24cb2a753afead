//! The table of `docs/guide/faults.md`, row by row.

/// One fault, in the page's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) name: String,
    pub(crate) callers: String,
    pub(crate) database: String,
    pub(crate) counters: Vec<String>,
}

/// The rows of the page's tables.
pub(crate) fn faults(page: &str) -> Vec<Fault> {
    page.lines().filter_map(row).filter(|fault| fault.name != "fault" && !fault.name.starts_with("---")).collect()
}

fn row(line: &str) -> Option<Fault> {
    let cells: Vec<_> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
    let [name, _, callers, database, counters, _] = cells[..] else {
        return Some(Fault {
            name: line.to_owned(),
            callers: String::new(),
            database: String::new(),
            counters: Vec::new(),
        });
    };
    let counters = counters.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    Some(Fault { name: name.to_owned(), callers: callers.to_owned(), database: database.to_owned(), counters })
}

/// A cell of what callers see: for each kind of caller, the phrases that hold for all of them.
pub(crate) fn clauses(cell: &str) -> Vec<(&str, Vec<&str>)> {
    let clause = |clause: &'_ str| -> (usize, usize) {
        let who = clause.find(": ").unwrap_or(0);
        (who, if who == 0 { 0 } else { who + 2 })
    };
    cell.split("; ")
        .map(|text| {
            let (who, says) = clause(text);
            (&text[..who], text[says..].split(", ").collect())
        })
        .collect()
}
