//! The program itself: started, signalled, and under load.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

/// A shop in a process of its own; killed when dropped.
struct Server {
    child: Child,
    url: String,
    _folder: TempDir,
}

impl Server {
    fn start(more: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_shop"))
            .args(["serve", "--addr", "127.0.0.1:0", "--products", "2000", "--db"])
            .arg(folder.path().join("shop.db"))
            .args(more)
            .env("HERDCACHE_FEED", "off")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let url = line.split_whitespace().find(|word| word.starts_with("http://")).expect("it says where it listens");
        Self { url: url.to_owned(), child, _folder: folder }
    }

    fn load(&self, more: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_shop"))
            .args(["load", "--url", &self.url, "--for", "1s", "--rate", "200", "--keys", "50", "--json"])
            .args(more)
            .output()
            .unwrap()
    }

    fn addr(&self) -> std::net::SocketAddr {
        self.url.trim_start_matches("http://").parse().unwrap()
    }

    fn terminate(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// X1: SIGTERM lets the request in progress be answered, and the program exits with 0.
#[tokio::test]
async fn x1_sigterm_ends_the_program_in_order() {
    let mut server = Server::start(&[]);
    let addr = server.addr();
    let slow = tokio::spawn(async move { crate::support::get(addr, "/products/1?tenant=acme").await });
    let loading = async { while crate::support::get(addr, "/health").await.number("/gate_used") == 0 {} };
    tokio::time::timeout(crate::support::PATIENCE, loading).await.expect("the load takes its permit");
    server.terminate();
    assert_eq!(slow.await.unwrap().status, 200);
    let status = tokio::task::spawn_blocking(move || server.child.wait().unwrap()).await.unwrap();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn load_reports_every_request_and_exits_with_0() {
    let server = Server::start(&["--stale-for", "30s"]);
    let output = server.load(&["--warm-up", "--orders-rate", "10"]);
    assert!(output.status.success(), "{output:?}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["products"]["sent"], 200);
    assert_eq!(report["products"]["by_status"], serde_json::json!({ "200": 200 }));
    let outcomes = report["products"]["by_outcome"].as_object().unwrap();
    assert_eq!(outcomes.values().map(|count| count.as_u64().unwrap()).sum::<u64>(), 200);
    assert_eq!(report["products"]["latency"]["count"], 200);
    assert_eq!(report["orders"]["by_status"], serde_json::json!({ "200": 10 }));
    assert_eq!(report["database"]["orders_queries"], 10);
    assert_eq!(report["database"]["ordinary_queries"], 0, "the warm-up had loaded them all");
    assert_eq!(report["warm_up"], serde_json::json!({ "asked": 51, "failed": 0 }));
    // Fresh for a second, of which jitter takes at most a tenth: at most one query for each 0.9 s.
    let bundles = report["database"]["bundle_queries"].as_f64().unwrap();
    let most = 1.0 + (report["seconds"].as_f64().unwrap() / 0.9).ceil();
    assert!(bundles <= most, "{bundles} queries of one bundle, {most} expected at most");
}

#[test]
fn load_exits_with_1_on_errors_unless_they_are_expected() {
    // One connection, no patience and no protection: most loads find no connection.
    let errors = ["--connections", "1", "--permits", "1", "--acquire-timeout", "1ms", "--no-protection"];
    let server = Server::start(&errors);
    let output = server.load(&["--hot-share", "1", "--seed", "3"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["products"]["by_status"]["502"].as_u64() > Some(0), "{report}");
    assert_eq!(server.load(&["--hot-share", "1", "--expect-errors"]).status.code(), Some(0));
}

#[test]
fn load_says_what_is_wrong() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let run = |args: &[&str]| Command::new(env!("CARGO_BIN_EXE_shop")).arg("load").args(args).output().unwrap();
    let output = run(&["--url", &format!("http://{nobody}"), "--for", "1s"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("shop serve"), "{said}");
    assert_eq!(run(&["--url", "https://shop"]).status.code(), Some(2), "a usage error");

    let server = Server::start(&[]);
    let output = run(&["--url", &server.url, "--for", "1s", "--keys", "1999"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("--keys 1999") && said.contains("1995"), "{said}");
}

/// A destination that makes no sense is refused before anything starts, with what would be taken.
#[cfg(feature = "otlp")]
#[test]
fn serve_says_what_a_destination_looks_like() {
    let run = |args: &[&str], told: &[(&str, &str)]| {
        let folder = TempDir::new().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_shop"));
        command.args(["serve", "--addr", "127.0.0.1:0", "--products", "500", "--db"]);
        command.arg(folder.path().join("shop.db")).args(args).envs(told.iter().copied()).env("HERDCACHE_FEED", "off");
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = run(&["--otlp", "127.0.0.1:4317"], &[]);
    assert!(code == Some(2) && said.contains("grpc://HOST:PORT"), "{said}");
    let (code, said) = run(&["--otlp", "https://otel:4318"], &[]);
    assert!(code == Some(2) && said.contains("TLS is not built"), "{said}");
    let (code, said) = run(&["--trace-share", "0.1"], &[]);
    assert!(code == Some(2) && said.contains("--otlp"), "{said}");
    let (code, said) = run(&["--otlp"], &[("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")]);
    assert!(
        code == Some(1) && said.contains("OTEL_EXPORTER_OTLP_PROTOCOL") && said.contains("http/protobuf"),
        "{said}"
    );
}
