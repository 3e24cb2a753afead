//! Slips of the command line that would otherwise end as strange addresses.
//!
//! A word that is no address may be a command that was mistyped, or one that was put after options of the dashboard.
//! Which one it is, is told; nothing is guessed and carried out.

use clap::{Command, CommandFactory};

use super::Cli;

/// What is wrong with these words, if one of them is a command in the wrong place or nearly one.
pub(super) fn of(words: &[String]) -> Option<String> {
    let commands = Cli::command();
    let names: Vec<&str> =
        commands.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name).collect();
    words.iter().find_map(|word| {
        if word.contains(['/', '\\', ':', '.']) {
            return None;
        }
        if names.contains(&word.as_str()) {
            return Some(format!(
                "options and targets of the dashboard do not go with commands: `herdtop {word} --help` lists what does"
            ));
        }
        let meant = names.iter().find(|name| distance(word, name) <= 2)?;
        Some(format!("{}: no such command or target; did you mean `herdtop {meant}`?", crate::text::clean(word)))
    })
}

/// Letters to add, drop or change until both are the same.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut above_left = std::mem::replace(&mut row[0], line + 1);
        for (place, known) in other.iter().enumerate() {
            let change = above_left + usize::from(letter != *known);
            above_left = row[place + 1];
            row[place + 1] = change.min(row[place] + 1).min(above_left + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distance_counts_letters() {
        for (one, other, letters) in [("demo", "demo", 0), ("demoo", "demo", 1), ("dmeo", "demo", 2), ("", "demo", 4)] {
            assert_eq!(distance(one, other), letters, "{one}");
        }
    }

    #[cfg(feature = "demo")]
    #[test]
    fn a_command_that_is_mistyped_or_misplaced_is_told() {
        let told = |word: &str| of(&[word.to_owned()]);
        assert_eq!(told("demoo").unwrap(), "demoo: no such command or target; did you mean `herdtop demo`?");
        assert!(told("demo").unwrap().starts_with("options and targets of the dashboard do not go with commands"));
        for fine in ["4711", "/run/demo", "demo.sock", "demo:9000", "shop"] {
            assert_eq!(told(fine), None, "{fine}");
        }
    }
}
