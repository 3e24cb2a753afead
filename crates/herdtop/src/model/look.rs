//! How the screen may look: which colours and which glyphs the terminal has.

/// Colours that the terminal can show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colors {
    /// 24-bit colours.
    True,
    /// The 256-colour cube.
    #[default]
    Indexed,
    /// The 16 named colours.
    Named,
    /// None: bold, reverse and letters say it all.
    Mono,
}

/// Glyphs that the terminal can show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GlyphSet {
    /// Unicode of width one.
    #[default]
    Unicode,
    /// ASCII only.
    Ascii,
}

/// Both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Colours.
    pub colors: Colors,
    /// Glyphs.
    pub glyphs: GlyphSet,
}

impl Colors {
    /// What the environment promises, by the usual variables; `NO_COLOR` wins.
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Self {
        let has = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
        if has("NO_COLOR") {
            return Self::Mono;
        }
        let term = variable("TERM").unwrap_or_default();
        let depth = variable("COLORTERM").unwrap_or_default();
        match (depth.as_str(), term.as_str()) {
            ("truecolor" | "24bit", _) => Self::True,
            (_, "dumb" | "") => Self::Mono,
            (_, term) if term.contains("direct") => Self::True,
            (_, term) if term.contains("256") => Self::Indexed,
            _ => Self::Named,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_says_which_colours_there_are() {
        let seen = |pairs: &'static [(&'static str, &'static str)]| {
            Colors::from_environment(|name| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()))
        };
        assert_eq!(seen(&[("COLORTERM", "truecolor"), ("TERM", "xterm")]), Colors::True);
        assert_eq!(seen(&[("TERM", "tmux-256color")]), Colors::Indexed);
        assert_eq!(seen(&[("TERM", "xterm")]), Colors::Named);
        assert_eq!(seen(&[("TERM", "dumb")]), Colors::Mono);
        assert_eq!(seen(&[("NO_COLOR", "1"), ("COLORTERM", "truecolor"), ("TERM", "xterm")]), Colors::Mono);
        assert_eq!(seen(&[("NO_COLOR", ""), ("TERM", "xterm-256color")]), Colors::Indexed);
    }
}
