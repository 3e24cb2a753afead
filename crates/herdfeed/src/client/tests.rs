//! What the reader makes of other sides, on paused time and connections in memory.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::time::{Instant, sleep, timeout};

use crate::address::Address;
use crate::client::connect::{ask, handshake};
use crate::client::{AttachError, Lines, SILENCE, StreamOptions};
use crate::line::{Line, MAX_LINE};

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\n\r\n";

/// A reader whose other side sends `first`, and that side.
async fn attached(first: &[u8]) -> Result<(Lines, DuplexStream), AttachError> {
    let address: Address = "localhost:9000".parse().unwrap();
    let (ours, mut theirs) = duplex(4 * MAX_LINE);
    let connection = handshake(&address, ours).await?;
    let options = StreamOptions::default();
    let path = options.path();
    let other_side = async {
        let mut request = [0; 1024];
        assert!(theirs.read(&mut request).await.unwrap() > 0);
        theirs.write_all(first).await.unwrap();
    };
    let (answer, ()) = tokio::join!(ask(&address, connection, &path, None), other_side);
    let answer = answer?;
    Ok((Lines::new(address, answer, options.silence()), theirs))
}

fn lag(from: u64) -> Vec<u8> {
    Line::Lag { from, to: from + 1 }.encode().unwrap()
}

#[tokio::test(start_paused = true)]
async fn silence_is_an_error_and_counted_from_the_last_byte() {
    let (mut lines, mut theirs) = attached(HEAD).await.unwrap();
    sleep(Duration::from_secs(9)).await;
    theirs.write_all(&lag(1)).await.unwrap();
    assert_eq!(lines.next().await.unwrap(), Some(Line::Lag { from: 1, to: 2 }));
    // A caller that looks four times a second must not start the limit anew each time.
    let began = Instant::now();
    let error = loop {
        match timeout(Duration::from_millis(250), lines.next()).await {
            Ok(result) => break result.unwrap_err(),
            Err(_) => assert!(began.elapsed() <= SILENCE),
        }
    };
    assert!(matches!(error, AttachError::Timeout { limit: SILENCE, .. }), "{error}");
    assert_eq!(began.elapsed(), SILENCE);
}

#[tokio::test(start_paused = true)]
async fn no_line_is_lost_when_the_caller_stops_waiting() {
    let (mut lines, mut theirs) = attached(HEAD).await.unwrap();
    tokio::spawn(async move {
        // Every line arrives in two pieces with a pause between them.
        for from in 0..20 {
            let text = lag(from);
            theirs.write_all(&text[..7]).await.unwrap();
            sleep(Duration::from_millis(90)).await;
            theirs.write_all(&text[7..]).await.unwrap();
        }
    });
    let mut read = Vec::new();
    while read.len() < 20 {
        if let Ok(line) = timeout(Duration::from_millis(70), lines.next()).await {
            read.push(line.unwrap());
        }
    }
    assert_eq!(read, (0..20).map(|from| Some(Line::Lag { from, to: from + 1 })).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn bad_lines_are_counted_and_skipped() {
    let (mut lines, mut theirs) = attached(HEAD).await.unwrap();
    let mut sent = b"{\"t\":\"la\n\xff\xfe\n\n{\"t\":\"meteor\",\"size\":9}\n".to_vec();
    sent.extend(std::iter::repeat_n(b'x', 2 * MAX_LINE));
    sent.push(b'\n');
    sent.extend(lag(7));
    theirs.write_all(&sent).await.unwrap();
    assert_eq!(lines.next().await.unwrap(), Some(Line::Unknown));
    assert_eq!(lines.bad_lines(), 2);
    assert_eq!(lines.next().await.unwrap(), Some(Line::Lag { from: 7, to: 8 }));
    assert_eq!(lines.bad_lines(), 3);
    drop(theirs);
    assert_eq!(lines.next().await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn another_version_is_named() {
    let hello =
        br#"{"t":"hello","v":[3,1],"min":2,"lib":"herdcache 9.0.0","process":{},"clock":{"mono_us":1,"unix_us":2}}"#;
    let (mut lines, mut theirs) = attached(HEAD).await.unwrap();
    theirs.write_all(&[hello.as_slice(), b"\n"].concat()).await.unwrap();
    let error = lines.next().await.unwrap_err();
    assert!(error.to_string().ends_with("it speaks v3, this reader v1: upgrade the reader"), "{error}");

    let answer = b"HTTP/1.1 404 Not Found\r\ncontent-length: 16\r\n\r\n{\"versions\":[2]}";
    let error = attached(answer).await.map(drop).unwrap_err();
    assert!(matches!(&error, AttachError::Version { theirs, .. } if theirs[..] == [2]), "{error}");
}

#[tokio::test(start_paused = true)]
async fn what_does_not_answer_or_speaks_otherwise_is_an_error() {
    let began = Instant::now();
    let error = attached(b"").await.map(drop).unwrap_err();
    assert!(matches!(error, AttachError::Timeout { .. }), "{error}");
    assert_eq!(began.elapsed(), Duration::from_secs(2));

    let error = attached(b"SSH-2.0-OpenSSH_9.2\r\n").await.map(drop).unwrap_err();
    assert!(error.to_string().ends_with("is this the address of a feed?"), "{error}");

    // A stream in chunks that breaks off within one.
    let cut = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n40\r\n{\"t\":";
    let (mut lines, theirs) = attached(cut).await.unwrap();
    drop(theirs);
    assert!(matches!(lines.next().await, Err(AttachError::Io { .. })));
}

#[test]
fn a_slow_cadence_may_be_silent_for_longer() {
    let silence = |hz| StreamOptions { hz, ..StreamOptions::default() }.silence();
    assert_eq!([silence(4.0), silence(f64::NAN), silence(0.1)], [SILENCE, SILENCE, Duration::from_secs(30)]);
    let options = StreamOptions { hz: 99.0, since: Some(7), token: None };
    assert_eq!(options.path(), "/herd/v1/stream?hz=20&since=7");
}
