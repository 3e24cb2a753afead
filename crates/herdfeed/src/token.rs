//! [`Token`]: the shared secret of a feed on TCP.
//!
//! It is never shown: not by `Debug`, not in an error. Reading it from a file or
//! the environment is the caller's part; a command line is no place for it.

use std::fmt;
use std::sync::Arc;

/// The shortest token, in characters: 128 bits as base64 take 22 characters, as hexadecimal 32.
pub const MIN_TOKEN: usize = 22;

/// A secret that a reader presents as `Authorization: Bearer …`.
///
/// ```
/// use herdfeed::Token;
/// let token = Token::new("0f6b3c1d9a8e47528c1f0a9b7d6e5c43")?;
/// assert_eq!(format!("{token:?}"), "Token(…)");
///
/// // What anybody could guess is none.
/// use herdfeed::token::{MIN_TOKEN, TokenError};
/// assert_eq!(Token::new(&"x".repeat(MIN_TOKEN - 1)).err(), Some(TokenError::Short));
/// # Ok::<(), herdfeed::token::TokenError>(())
/// ```
#[derive(Clone)]
pub struct Token(Arc<str>);

/// Why a text is no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenError {
    /// Shorter than [`MIN_TOKEN`] characters.
    Short,
    /// It holds something else than visible ASCII characters.
    NotVisible,
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => {
                write!(f, "the token is shorter than {MIN_TOKEN} characters: make one with `openssl rand -hex 16`")
            }
            Self::NotVisible => {
                f.write_str("the token holds a space or an invisible character: make one with `openssl rand -hex 16`")
            }
        }
    }
}

impl std::error::Error for TokenError {}

impl Token {
    /// A token from its text. Surrounding white space, such as a file's last newline, is ignored.
    ///
    /// # Errors
    /// [`TokenError`] when it is too short to be a secret or cannot travel in a header.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenError::NotVisible);
        }
        if text.len() < MIN_TOKEN {
            return Err(TokenError::Short);
        }
        Ok(Self(text.into()))
    }

    /// Whether `presented` is this token, in a time that does not depend on where they differ.
    #[cfg_attr(not(feature = "server"), expect(dead_code, reason = "only the server judges tokens"))]
    pub(crate) fn matches(&self, presented: &[u8]) -> bool {
        let secret = self.0.as_bytes();
        let mut difference = secret.len() ^ presented.len();
        for (byte, expected) in presented.iter().zip(secret.iter().cycle()) {
            difference |= usize::from(byte ^ expected);
        }
        std::hint::black_box(difference) == 0
    }

    /// The header's value.
    #[cfg_attr(not(feature = "client"), expect(dead_code, reason = "only the client presents tokens"))]
    pub(crate) fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0f6b3c1d9a8e47528c1f0a9b7d6e5c43";

    #[test]
    fn p3_a_token_shows_nothing() {
        assert_eq!(format!("{:?}", Token::new(SECRET).unwrap()), "Token(…)");
        assert!(!TokenError::Short.to_string().contains("0f6b"));
    }

    #[test]
    fn a_weak_or_unsendable_token_is_refused() {
        assert_eq!(Token::new("secret").err(), Some(TokenError::Short));
        assert_eq!(Token::new("0f6b3c1d9a8e4752 c1f0a9b7d6e5c43").err(), Some(TokenError::NotVisible));
        assert!(Token::new(&format!("{SECRET}\n")).is_ok());
    }

    #[cfg(feature = "server")]
    #[test]
    fn p1_only_the_whole_token_matches() {
        let token = Token::new(SECRET).unwrap();
        assert!(token.matches(SECRET.as_bytes()));
        let doubled = format!("{SECRET}{SECRET}");
        for wrong in ["", &SECRET[..31], &doubled, &SECRET.to_uppercase()] {
            assert!(!token.matches(wrong.as_bytes()), "{wrong}");
        }
    }
}
