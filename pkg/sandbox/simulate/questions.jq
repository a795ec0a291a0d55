# What the stages ask of a pod. Times are seconds since 1970, with fractions;
# infinite is never.
def annotation($name): (.metadata.annotations // {})["sandbox.berth.dev/" + $name];
def isDuration: test("^([0-9]+(\\.[0-9]+)?(d|h|ms|m|s))+$");
# Whole seconds are taken apart by hand, because a regular expression is
# compiled anew each time, which costs more than all the rest.
def seconds:
  if . == null then infinite
  else (rtrimstr("s") | tonumber?)
    // (if isDuration
        then [scan("([0-9]+(?:\\.[0-9]+)?)(d|h|ms|m|s)") | (.[0] | tonumber) * {"d": 86400, "h": 3600, "m": 60, "s": 1, "ms": 0.001}[.[1]]] | add
        else infinite end)
  end;
def instant: (.[0:19] + "Z" | fromdate) + (.[20:23] | tonumber) / 1000;
def deleted: .metadata.deletionTimestamp != null;
def terminating: annotation("killed-at") != null;
def ready: any(.status.conditions[]?; .type == "Ready" and .status == "True");
def valid:
  . as $pod
  | all("runtime", "ready-after", "exits-after"; . as $name | $pod | annotation($name) | . == null or isDuration)
    and (annotation("exit-code") | . == null or (test("^[0-9]{1,3}$") and tonumber <= 255));
def startAt: annotation("started-at") | if . == null then now else instant end;
def exitAt: startAt + (annotation("runtime") | seconds);
def deadlineAt: if .spec.activeDeadlineSeconds == null then infinite else startAt + .spec.activeDeadlineSeconds end;
def readyAt: startAt + (annotation("ready-after") | if . == null then 0 else seconds end);
def leaveAt: (annotation("terminating-since") | if . == null then now else instant end) + (annotation("exits-after") | seconds);
def killAt: annotation("killed-at") | if . == null then infinite else instant end;
def endAt:
  if deleted then (if terminating then [leaveAt, killAt] | min else 0 end)
  else [exitAt, deadlineAt] | min end;
def settled: deleted or ready or readyAt >= endAt;
