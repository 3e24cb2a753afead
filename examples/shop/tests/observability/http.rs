//! The least of an HTTP client: one request, one answer, by threads that may block.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// Asks `address` (host and port) and gives the body; an error if nobody answers.
pub(crate) fn ask(address: &str, head: &str, body: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    // HTTP/1.0: the answer comes in one piece and ends with the connection.
    write!(stream, "{head} HTTP/1.0\r\nHost: {address}\r\nContent-Length: {}\r\n", body.len())?;
    let kind = if body.starts_with('{') { "application/json" } else { "application/x-www-form-urlencoded" };
    write!(stream, "Content-Type: {kind}\r\n\r\n{body}")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
}

/// A form with these fields.
pub(crate) fn form(fields: &[(&str, &str)]) -> String {
    let encoded = |text: &str| -> String {
        text.bytes()
            .map(
                |byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") },
            )
            .collect()
    };
    fields.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect::<Vec<_>>().join("&")
}

/// The same as JSON.
pub(crate) fn json(address: &str, head: &str, body: &str) -> Option<Value> {
    serde_json::from_str(&ask(address, head, body).ok()?).ok()
}
