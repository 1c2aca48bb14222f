#include "sim/html_report.h"

namespace wg::sim {

// The six series colours are Okabe and Ito's, which colour-blind people tell apart, lightened in the dark.
const char* const report_style = R"css(
:root{color-scheme:light dark;--page:#fbfbf9;--card:#fff;--ink:#1c1f23;--quiet:#5f666e;--rule:#e0e1dd;--axis:#9aa0a6;
--c0:#5b6570;--c1:#0072b2;--c2:#c14f00;--c3:#00805c;--c4:#a8487f;--c5:#8a6500;--cached:#3b8ec2;--computed:#d98032;--kv:#7d8fa1;--full:#f0f1ee}
@media(prefers-color-scheme:dark){:root{--page:#14171a;--card:#1c2024;--ink:#e6e8ea;--quiet:#a0a8b0;--rule:#30363c;--axis:#6f7780;
--c0:#aab4be;--c1:#58b4ea;--c2:#ff9552;--c3:#3fd0a2;--c4:#ec9cc6;--c5:#e5bd4a;--cached:#3f8fc4;--computed:#e08b45;--kv:#8496a8;--full:#262b30}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1120px;padding:32px 20px 60px;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
h1{font-size:25px;line-height:1.25;margin:0 0 4px}h2{font-size:18px;margin:38px 0 10px}h3{font-size:14px;margin:0 0 6px}
p{margin:6px 0}.quiet{color:var(--quiet)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 18px;margin:16px 0}dt{color:var(--quiet)}dd{margin:0;overflow-wrap:anywhere}
ul.notes{padding-left:20px;margin:12px 0}
.keys{display:flex;flex-wrap:wrap;gap:4px 22px;margin:10px 0 14px;padding:0;list-style:none}.keys li{display:flex;align-items:center;gap:7px}
.key{width:34px;height:14px}.patch{width:26px;height:14px}
.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:14px}
figure{margin:0;background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:12px 12px 6px;min-width:0}
figcaption{font-weight:600;font-size:14px;margin-bottom:4px}figcaption span{font-weight:400;color:var(--quiet)}
figure svg{display:block;width:100%;height:auto}
svg text{font-size:11.5px;fill:var(--ink);font-family:inherit}svg text.quiet{fill:var(--quiet)}svg text.name{font-weight:600}
.grid line,line.grid{stroke:var(--rule);stroke-width:1}line.axis{stroke:var(--axis)!important;stroke-width:1}
polyline{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round}
.s0{color:var(--c0)}.s1{color:var(--c1)}.s2{color:var(--c2)}.s3{color:var(--c3)}.s4{color:var(--c4)}.s5{color:var(--c5)}
g circle,g polygon{fill:currentColor;stroke:var(--card);stroke-width:1}
line.spread{stroke:currentColor!important;stroke-width:1.5;opacity:.55}line.leader{stroke:currentColor!important;stroke-width:1;opacity:.45}
.cached{fill:var(--cached)}.computed{fill:url(#hatch)}.kv{fill:var(--kv)}.full{fill:var(--full)}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:13px}
th,td{padding:4px 10px;text-align:right;border-bottom:1px solid var(--rule);white-space:nowrap}
th{font-weight:600;color:var(--quiet);white-space:normal;vertical-align:bottom;min-width:62px}
th:first-child,td:first-child{text-align:left;position:sticky;left:0;background:var(--page)}
td small{display:block;color:var(--quiet);font-size:11px}tr.first td{border-top:2px solid var(--axis)}
details{margin:10px 0;border-top:1px solid var(--rule);padding-top:8px}summary{cursor:pointer;font-weight:600}
details details{border:0;padding:0}details details summary{font-weight:400;color:var(--quiet)}
footer{margin-top:40px;color:var(--quiet);font-size:13px}
@media print{body{max-width:none}figure{break-inside:avoid}}
)css";

}  // namespace wg::sim
