#!/bin/sh
# Stands in for ZooKeeper's script of this name where a program starts servers with
#   zkServer.sh start-foreground CONFIG
# The server is a simulated one, in the interlock serve whose control socket INTERLOCK_CONTROL names.
# INTERLOCK names the program, unless it is found by its name. The program takes the place of this
# shell, so that a signal to this process, even SIGKILL, ends the server.
exec "${INTERLOCK:-interlock}" launch "$@"
