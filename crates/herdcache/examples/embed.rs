//! The README's example, whole: `cargo run -p herdcache --example embed --features feed`.
#![expect(clippy::print_stdout, reason = "an example speaks on standard output")]

use std::time::Duration;

use herdcache::{Answer, Cache, Gate, LoadContext, Ttl};

/// A stand-in for a database client.
#[derive(Clone, Debug)]
struct Pool {
    connections: usize,
}

#[derive(Debug)]
struct Row {
    name: String,
}

#[derive(Debug, Clone, Copy)]
struct DbError;

impl std::fmt::Display for DbError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the database failed")
    }
}

impl Pool {
    fn size(&self) -> usize {
        self.connections
    }

    async fn find(&self, id: u64, timeout: Duration) -> Result<Option<Row>, DbError> {
        let query = tokio::time::sleep(Duration::from_millis(20));
        tokio::time::timeout(timeout, query).await.map_err(|_| DbError)?;
        Ok((id < 100).then(|| Row { name: format!("user {id}") }))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pool = Pool { connections: 10 };
    // readme
    let gate = Gate::new(pool.size() - 2); // permits: what may reach the database at once
    let ttl = Ttl::fresh_for(Duration::from_secs(60)).stale_for(Duration::from_secs(300));
    let users = Cache::builder("users", ttl, &gate).build_over(move |cx: LoadContext<u64, Row>| {
        let pool = pool.clone();
        async move { pool.find(*cx.key(), cx.remaining()).await } // None is cached as absent
    })?;
    let feed = herdcache::serve_feed("api").inspect_err(|error| eprintln!("no feed: {error}")).ok(); // herdtop finds it

    match users.get(&7).await {
        Ok(Some(user)) => println!("200 {} ({})", user.name, Answer::outcome(&user)),
        Ok(None) => println!("404"),
        Err(error) => println!("{} {}, {:?}", error.kind().http_status(), error.kind(), error.retry_after_seconds()),
    }

    users.shutdown(Duration::from_secs(5)).await; // after Ctrl-C or SIGTERM, once no request is left
    drop(feed); // the goodbye: a process that ends without one reads as died
    // readme
    Ok(())
}
