package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// ---- CPU and memory of a process tree -------------------------------------------------------------------------

func tree(pid int) []int {
	all := []int{pid}
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, t := range tasks {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
		for _, c := range strings.Fields(string(b)) {
			n, _ := strconv.Atoi(c)
			all = append(all, tree(n)...)
		}
	}
	return all
}

// treeCPU: utime+stime of the tree. The kernel counts in ticks of 10 ms here.
func treeCPU(pid int) time.Duration {
	ticks := 0
	for _, p := range tree(pid) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p))
		if err != nil {
			continue
		}
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+2:]))
		u, _ := strconv.Atoi(f[11])
		s, _ := strconv.Atoi(f[12])
		ticks += u + s
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

func treePeakKB(pid int, reset bool) int {
	kb := 0
	for _, p := range tree(pid) {
		if reset {
			os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p), []byte("5"), 0)
		}
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p))
		if _, rest, ok := strings.Cut(string(b), "VmHWM:"); ok {
			n, _ := strconv.Atoi(strings.Fields(rest)[0])
			kb += n
		}
	}
	return kb
}

// ---- a lean HTTP/1.1 client ------------------------------------------------------------------------------------

type client struct {
	addr string
	c    net.Conn
	r    *bufio.Reader
}

func (c *client) close() {
	if c.c != nil {
		c.c.Close()
		c.c = nil
	}
}

// do sends head (request line and headers, without Content-Length) and body; the caller reads resp.Body to its end.
func (c *client) do(head string, body []byte, timeout time.Duration) (*http.Response, error) {
	if c.c == nil {
		conn, err := net.DialTimeout("tcp", c.addr, 5*time.Second)
		if err != nil {
			return nil, err
		}
		c.c, c.r = conn, bufio.NewReaderSize(conn, 16384)
	}
	c.c.SetDeadline(time.Now().Add(timeout))
	bufs := net.Buffers{[]byte(head + "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n"), body}
	if _, err := bufs.WriteTo(c.c); err != nil {
		c.close()
		return nil, err
	}
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil {
		c.close()
	}
	return resp, err
}

// doChunked sends the body in two chunks, without Content-Length.
func (c *client) doChunked(head string, body []byte, timeout time.Duration) (*http.Response, error) {
	conn, err := net.DialTimeout("tcp", c.addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	c.c, c.r = conn, bufio.NewReader(conn)
	conn.SetDeadline(time.Now().Add(timeout))
	h := len(body) / 2
	fmt.Fprintf(conn, "%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", head, h, body[:h])
	time.Sleep(20 * time.Millisecond)
	fmt.Fprintf(conn, "%x\r\n%s\r\n0\r\n\r\n", len(body)-h, body[h:])
	return http.ReadResponse(c.r, nil)
}

func (c *client) finish(resp *http.Response) (int64, error) {
	n, err := io.Copy(io.Discard, resp.Body)
	if err != nil || resp.Close {
		c.close()
	}
	if err == nil && resp.StatusCode != 200 {
		err = fmt.Errorf("status %d", resp.StatusCode)
	}
	return n, err
}

func head(host, path, session string, extra ...string) string {
	return "POST " + path + " HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/json\r\nAuthorization: Bearer sk-sim\r\nUser-Agent: peers/1\r\n" +
		"Accept: */*\r\nx-session-id: " + session + "\r\nx-smg-routing-key: " + session + "\r\n" + strings.Join(extra, "")
}

// ---- conversations -----------------------------------------------------------------------------------------------

var words = strings.Fields("the cache of a replica holds blocks for each session return error nil func handle context request if err != read file line test fails expected got value path src main int string map index token server queue wait slot metric config parse branch commit merge review update")

// prose: text as JSON string content, with the escapes that code has (newlines, quotes, backslashes).
func prose(r *rand.Rand, n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(words[r.Intn(len(words))])
		switch r.Intn(12) {
		case 0:
			b.WriteString(`\n    `)
		case 1:
			b.WriteString(`(\"` + strconv.Itoa(r.Intn(10000)) + `\") `)
		default:
			b.WriteByte(' ')
		}
	}
	return b.String()
}

var systemPrompt = prose(rand.New(rand.NewSource(1)), 16000) // the same for every session, as an agent's is

// talk is one growing conversation; each turn appends an assistant and a user message of about 2 KB together.
type talk struct {
	id  string
	rng *rand.Rand
	buf []byte
	max int
}

func newTalk(seed int64, start, max int) *talk {
	t := &talk{id: fmt.Sprintf("sess-%08x", uint32(seed*2654435761)), rng: rand.New(rand.NewSource(seed)), max: max}
	sys := systemPrompt
	if start < 20000 {
		sys = sys[:200]
	}
	t.buf = append(t.buf, `{"messages":[{"role":"system","content":"`+sys+`"},{"role":"user","content":"[`+t.id+`] `+prose(t.rng, 300)+`"}`...)
	for len(t.buf) < start {
		t.grow()
	}
	return t
}

func (t *talk) grow() {
	t.buf = append(t.buf, `,{"role":"assistant","content":"`+prose(t.rng, 700)+`"},{"role":"user","content":"`+prose(t.rng, 1300)+`"}`...)
}

// body closes the JSON the way the OpenAI SDK orders it: messages first, then model, stream, user.
func (t *talk) body(dst []byte, stream bool) []byte {
	dst = append(append(dst[:0], t.buf...), `],"model":"sim","max_tokens":200,"temperature":0.7,"stream":`...)
	dst = strconv.AppendBool(dst, stream)
	if stream {
		dst = append(dst, `,"stream_options":{"include_usage":true}`...)
	}
	return append(append(append(dst, `,"user":"`...), t.id...), `"}`...)
}

// ---- workloads -----------------------------------------------------------------------------------------------------

type workload struct {
	conns, start, max int // connections; a session's body grows from start to max bytes
}

var workloads = map[string]workload{
	"A": {16, 700, 0},        // 1 KB, a fixed body per session, 64 sessions
	"B": {16, 80000, 120000}, // 100 KB, growing
	"C": {8, 380000, 420000}, // 400 KB, growing
	"D": {100, 3000, 0},      // 100 streams
	"W": {256, 700, 0},       // A with 256 connections
}

type result struct {
	Proxy      string         `json:"proxy"`
	Workload   string         `json:"workload"`
	Round      int            `json:"round"`
	Conns      int            `json:"conns"`
	Done       int64          `json:"done"`
	Errors     int64          `json:"errors"`
	FirstError string         `json:"first_error,omitempty"`
	Seconds    float64        `json:"seconds"`
	Units      int64          `json:"units"` // requests, or SSE events for D
	CPUms      float64        `json:"cpu_ms"`
	CPUus      float64        `json:"cpu_us_per_unit"`
	PeakKB     int            `json:"rss_peak_kb"`
	LatP50us   float64        `json:"p50_us"` // request latency; for D the lag of an event (received - sent)
	LatP99us   float64        `json:"p99_us"`
	DirP50us   float64        `json:"direct_p50_us,omitempty"` // only for the C=1 latency runs
	DirP99us   float64        `json:"direct_p99_us,omitempty"`
	Sessions   int            `json:"sessions,omitempty"`
	Split      int            `json:"sessions_split,omitempty"` // sessions seen by more than one replica
	PerPort    []int64        `json:"per_port,omitempty"`
	Side       map[string]any `json:"side,omitempty"` // other requests that the replicas got from the proxy
}

func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	sort.Float64s(v)
	return v[min(len(v)-1, int(q*float64(len(v))))]
}

var seedBase atomic.Int64

func loadMain(args []string) {
	fs := flag.NewFlagSet("load", flag.ExitOnError)
	target := fs.String("url", "", "proxy base URL, e.g. http://127.0.0.1:22200")
	direct := fs.String("direct", "http://127.0.0.1:22101", "a replica's URL, for the added latency")
	admin := fs.String("admin", "http://127.0.0.1:22100", "the fake fleet's admin URL (empty: none)")
	pid := fs.Int("pid", 0, "the proxy's pid (its tree is charged); 0: no CPU figures")
	name := fs.String("name", "proxy", "name in the output")
	list := fs.String("workloads", "A,B,C,D", "which of A,B,C,D; LA, LB: latency at one connection; I: idle, per second")
	rounds := fs.Int("rounds", 3, "rounds")
	secs := fs.Float64("secs", 3, "seconds per closed-loop round")
	waves := fs.Int("waves", 2, "waves of streams per D round")
	fs.Parse(args)
	u, err := url.Parse(*target)
	die(err)
	d, err := url.Parse(*direct)
	die(err)
	seedBase.Store(time.Now().UnixNano() & 0xffffff)
	out := json.NewEncoder(os.Stdout)
	closedLoop(u.Host, workload{4, 700, 0}, 0.5) // warm up
	for round := 1; round <= *rounds; round++ {
		for _, name1 := range strings.Split(*list, ",") {
			if *admin != "" {
				http.Get(*admin + "/reset")
			}
			var r result
			treePeakKB(*pid, true)
			cpu := treeCPU(*pid)
			began := time.Now()
			switch w := workloads[strings.TrimPrefix(name1, "L")]; {
			case name1 == "I":
				time.Sleep(3 * time.Second)
				r = result{Done: 3, Units: 3}
			case name1[0] == 'L':
				r = latency(u.Host, d.Host, w, 300)
			case name1 == "D":
				r = streams(u.Host, w, *waves)
			default:
				r = closedLoop(u.Host, w, *secs)
			}
			r.Seconds = time.Since(began).Seconds()
			r.Proxy, r.Workload, r.Round = *name, name1, round
			if *pid > 0 {
				r.CPUms = float64((treeCPU(*pid) - cpu).Microseconds()) / 1000
				r.CPUus = r.CPUms * 1000 / float64(max(r.Units, 1))
				r.PeakKB = treePeakKB(*pid, false)
			}
			if *admin != "" {
				if st, err := getJSON(*admin + "/stats"); err == nil {
					r.Sessions, r.Split = int(st["sessions"].(float64)), int(st["sessions_split"].(float64))
					r.Side, _ = st["side"].(map[string]any)
					for _, n := range st["per_port"].([]any) {
						r.PerPort = append(r.PerPort, int64(n.(float64)))
					}
				}
			}
			out.Encode(r)
		}
	}
}

func getJSON(u string) (map[string]any, error) {
	resp, err := http.Get(u)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var m map[string]any
	return m, json.NewDecoder(resp.Body).Decode(&m)
}

// closedLoop: each connection sends its next request as soon as the last answer is read.
func closedLoop(host string, w workload, secs float64) result {
	var done, errs atomic.Int64
	var firstErr atomic.Value
	lats := make([][]float64, w.conns)
	stop := time.Now().Add(time.Duration(secs * float64(time.Second)))
	var wg sync.WaitGroup
	for k := 0; k < w.conns; k++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			c := &client{addr: host}
			defer c.close()
			var body []byte
			var talks []*talk
			for n := 0; time.Now().Before(stop); n++ {
				var t *talk
				if w.max == 0 { // small: four fixed sessions per connection
					if len(talks) < 4 {
						talks = append(talks, newTalk(seedBase.Add(1), w.start, 0))
					}
					t = talks[n%len(talks)]
				} else { // growing: one session after the other
					if len(talks) == 0 || len(talks[0].buf) > w.max {
						talks = []*talk{newTalk(seedBase.Add(1), w.start+k*(w.max-w.start)/w.conns, w.max)}
					}
					t = talks[0]
				}
				body = t.body(body, false)
				began := time.Now()
				resp, err := c.do(head(host, "/v1/chat/completions", t.id), body, 30*time.Second)
				if err == nil {
					_, err = c.finish(resp)
				}
				if err != nil {
					errs.Add(1)
					firstErr.CompareAndSwap(nil, err.Error())
					time.Sleep(time.Millisecond)
					continue
				}
				lats[k] = append(lats[k], float64(time.Since(began).Microseconds()))
				done.Add(1)
				if w.max > 0 {
					t.grow()
				}
			}
		}()
	}
	wg.Wait()
	all := slices.Concat(lats...)
	fe, _ := firstErr.Load().(string)
	return result{Conns: w.conns, Done: done.Load(), Units: done.Load(), Errors: errs.Load(), FirstError: fe,
		LatP50us: quantile(all, .5), LatP99us: quantile(all, .99)}
}

// latency: one connection, blocks of direct and proxied requests in turn, so that noise hits both alike.
func latency(host, direct string, w workload, n int) result {
	var lat [2][]float64
	r := result{Conns: 1}
	hosts := [2]string{host, direct}
	cs := [2]*client{{addr: host}, {addr: direct}}
	var body []byte
	t := newTalk(seedBase.Add(1), w.start, w.max)
	for k := -20; k < n; k++ {
		for which := range hosts {
			body = t.body(body, false)
			began := time.Now()
			resp, err := cs[which].do(head(hosts[which], "/v1/chat/completions", t.id), body, 30*time.Second)
			if err == nil {
				_, err = cs[which].finish(resp)
			}
			if err != nil {
				r.Errors++
				r.FirstError = err.Error()
			} else if k >= 0 {
				lat[which] = append(lat[which], float64(time.Since(began).Nanoseconds())/1000)
			}
		}
		if w.max > 0 && k%15 == 14 {
			t.grow()
		}
	}
	for _, c := range cs {
		c.close()
	}
	r.Done, r.Units = int64(len(lat[0])), int64(len(lat[0]))
	r.LatP50us, r.LatP99us = quantile(lat[0], .5), quantile(lat[0], .99)
	r.DirP50us, r.DirP99us = quantile(lat[1], .5), quantile(lat[1], .99)
	return r
}

// readSSE counts the events with a stamp and hands their lag on; it tells whether the stream ended as it should.
func readSSE(body io.Reader, each func(lag time.Duration)) (n int64, whole bool, err error) {
	r := bufio.NewReaderSize(body, 8192)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return n, whole, err
		}
		if bytes.HasPrefix(line, []byte("data:")) {
			if k := bytes.Index(line, []byte(`"t1`)); k >= 0 && len(line) > k+21 {
				if ns, err := strconv.ParseInt(string(line[k+2:k+21]), 10, 64); err == nil {
					n++
					each(time.Duration(time.Now().UnixNano() - ns))
					continue
				}
			}
			whole = whole || bytes.Contains(line, []byte("[DONE]")) || bytes.Contains(line, []byte("message_stop"))
		}
	}
}

// streams: conns streams at once, waves times; 200 events each, one in 10 ms.
func streams(host string, w workload, waves int) result {
	var done, errs, events atomic.Int64
	var firstErr atomic.Value
	lags := make([][]float64, w.conns)
	var wg sync.WaitGroup
	for k := 0; k < w.conns; k++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			c := &client{addr: host}
			defer c.close()
			for n := 0; n < waves; n++ {
				t := newTalk(seedBase.Add(1), w.start, 0)
				resp, err := c.do(head(host, "/v1/chat/completions", t.id, "x-sim-events: 200\r\nx-sim-interval-ms: 10\r\n"), t.body(nil, true), 120*time.Second)
				if err == nil && resp.StatusCode != 200 {
					_, err = c.finish(resp)
				} else if err == nil {
					var got int64
					var whole bool
					got, whole, err = readSSE(resp.Body, func(lag time.Duration) { lags[k] = append(lags[k], float64(lag.Microseconds())) })
					events.Add(got)
					if err == nil && (!whole || got != 200) {
						err = fmt.Errorf("%d events, whole=%v", got, whole)
					}
					if resp.Close {
						c.close()
					}
				}
				if err != nil {
					c.close()
					errs.Add(1)
					firstErr.CompareAndSwap(nil, err.Error())
					continue
				}
				done.Add(1)
			}
		}()
	}
	wg.Wait()
	all := slices.Concat(lags...)
	fe, _ := firstErr.Load().(string)
	return result{Conns: w.conns, Done: done.Load(), Units: events.Load(), Errors: errs.Load(), FirstError: fe,
		LatP50us: quantile(all, .5), LatP99us: quantile(all, .99)}
}
