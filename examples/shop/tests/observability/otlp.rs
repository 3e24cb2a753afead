//! The shop pushes OTLP: to a collector that listens, to none, and to one that never answers.
#![cfg(feature = "otlp")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::children::Process;
use crate::http;

fn shop(folder: &TempDir, url: &str) -> (Process, String) {
    let database = folder.path().join("shop.db").display().to_string();
    let args = ["serve", "--addr", "127.0.0.1:0", "--products", "500", "--db", &database, "--otlp", url];
    let mut process = Process::start(env!("CARGO_BIN_EXE_shop"), &args.map(str::to_owned));
    let said = process.lines_until("shop: the live feed");
    let address = said[0].split("http://").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    (process, address)
}

/// Reads one request, answers that it is well, and gives path and body.
fn receive(mut stream: TcpStream) -> Option<(String, Vec<u8>)> {
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4_096]);
    loop {
        let count = stream.read(&mut buffer).ok()?;
        bytes.extend_from_slice(&buffer[..count]);
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
            let length =
                head.to_lowercase().split("content-length: ").nth(1)?.split("\r\n").next()?.parse::<usize>().unwrap();
            if bytes.len() >= end + 4 + length {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                return Some((head.split(' ').nth(1)?.to_owned(), bytes[end + 4..].to_vec()));
            }
        }
        if count == 0 {
            return None;
        }
    }
}

fn holds(body: &[u8], text: &str) -> bool {
    body.windows(text.len()).any(|part| part == text.as_bytes())
}

/// X1: what was counted before the end arrives, though the interval has not passed.
#[test]
fn x1_the_last_metrics_are_sent_at_the_end() {
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", collector.local_addr().unwrap());
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in collector.incoming() {
            if let Some(request) = receive(stream.unwrap()) {
                let _ = tell.send(request);
            }
        }
    });
    let folder = TempDir::new().unwrap();
    let (mut shop, address) = shop(&folder, &url);
    let (path, body) = told.recv_timeout(Duration::from_secs(20)).unwrap();
    assert_eq!(path, "/v1/metrics");
    assert!(holds(&body, "herdcache.requests") && holds(&body, "products"), "{} bytes", body.len());
    assert!(!holds(&body, "herdcache.flight.waiters"), "nobody has waited yet");
    http::ask(&address, "GET /products/1?tenant=acme", "").unwrap();
    shop.terminate();
    assert_eq!(shop.wait(Duration::from_secs(20)), Some(0));
    let last = told.try_iter().last().expect("the last collection is sent");
    assert!(holds(&last.1, "herdcache.flight.waiters"), "the one load is told");
}

/// X1: a collector that is not there, or does not answer, disturbs neither requests nor the end.
#[test]
fn x1_an_absent_collector_disturbs_nothing() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    // A port that needs rights to listen at, so that nobody does.
    let nobody = "http://127.0.0.1:1".to_owned();
    for url in [nobody, format!("http://{}", silent.local_addr().unwrap())] {
        let folder = TempDir::new().unwrap();
        let (mut shop, address) = shop(&folder, &url);
        std::thread::sleep(Duration::from_millis(1_500));
        let answer = http::ask(&address, "GET /products/10?tenant=acme", "").unwrap();
        assert!(answer.contains("price_cents"), "{answer}");
        let began = Instant::now();
        shop.terminate();
        assert_eq!(shop.wait(Duration::from_secs(20)), Some(0), "{url}");
        println!("{url}: ended after {:.1?}", began.elapsed());
        assert!(began.elapsed() < Duration::from_secs(10), "{url}: {:?}", began.elapsed());
    }
}
